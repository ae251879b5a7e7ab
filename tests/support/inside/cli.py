"""What tests take of the command line."""

from workbell import cli as cli_package
from workbell.cli import agents, events, jobs, main, queues, schedules, triggers, webhooks
from workbell.cli.acting import operator
from workbell.cli.backup import without_password
from workbell.cli.events.remedy import remedy
from workbell.cli.findings import examine
from workbell.cli.lazy import LazyGroup
from workbell.cli.main import BUG, COMMANDS
from workbell.cli.main import MODULES as COMMAND_MODULES
from workbell.cli.main import workbell as workbell_command
from workbell.cli.output import echo, make_console, print_json, print_json_line
from workbell.cli.reload_lines import ReloadLines
from workbell.cli.run_lines import MOST_FRAMES, MOST_WAITING, RunLines
from workbell.cli.service import is_capable
from workbell.cli.starter import FILES as STARTER_FILES
from workbell.cli.transfer import KINDS as COPIED_KINDS
