"""Entry point of the command `workbell`: its commands, and errors as one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from workbell.cli.lazy import Lazy, LazyGroup
from workbell.cli.service import SERVICE, Place, no_service, place_options
from workbell.errors import WorkbellError
from workbell.version import __version__

# By heading: a name, and what `workbell --help` says of it. File (or package) and function of a command have its name.
# The texts stand here so that asking for help imports no command.
HEADINGS = {
    "Run": {
        "init": "Create a project: a workbell.toml and a first job.",
        "dev": "Run this folder's jobs here, with a line for every run; changed code is reloaded.",
        "start": "Run this folder's jobs as a service: the API, a scheduler and workers, supervised.",
        "server": "Serve the API and schedule, without workers: beside `workbell worker`, here or elsewhere.",
        "worker": "Run worker processes beside a `workbell start`, here or on another machine.",
        "dispatch": "Do one round of due schedules, events, retries and lost workers, and return: for cron.",
        "consume": "Execute queued runs here until none is left, and return: for cron. With ids: just these runs.",
    },
    "Look": {
        "jobs": "See the jobs, run one now, pause one; make, change and remove jobs that are data.",
        "runs": "See, watch, cancel and repeat runs, read their logs, and ask why one does not run.",
        "schedules": "List, add, change, preview, run, pause and remove schedules, and show outcomes of ticks.",
        "queues": "See the queues, and pause and resume them.",
        "events": "Emit events, see them as they come and what they matched, and test which triggers match a type.",
        "workers": "See the workers of every machine and what they do, and drain them.",
        "doctor": "Check the health of the store: what is fine, what to note, what is at risk.",
        "probe": "Ask a worker on this machine whether it is ready to take runs; exit code 0 or 1, for containers.",
    },
    "Operate": {
        "tenants": "See the tenants, and set their weights and limits.",
        "tokens": "Create, list and revoke access tokens of the HTTP API.",
        "audit": "List what operators did, newest first.",
        "backup": "Write a checked copy of a SQLite store into a file while it is in use; say how for PostgreSQL.",
        "restore": "Put a backup in the place of a SQLite store, or check a store that was restored.",
        "copy": "Copy jobs, schedules, events, endpoints, runs and history into another store.",
    },
    "Connect": {
        "agent": "Work here for a server on another machine, over HTTP: take the runs that target this agent.",
        "agents": "Pair, see, label, switch off and remove the agents on other machines.",
        "triggers": "See, add, change and remove triggers: which events start which jobs.",
        "webhooks": "See, add, test, change and remove webhook endpoints, and what was sent to them.",
        "bridge": "Write the Worker through which Workbell uses a D1 database of Cloudflare.",
    },
    "Set up": {
        "check": "List every problem of every job file, and of the app.",
        "migrate": "Bring the tables of the store up to date, or print the SQL that would.",
        "import": "Take over definitions, schedules and runs of another job system.",
    },
}
COMMANDS = {name: text for commands in HEADINGS.values() for name, text in commands.items()}

# Where the file has another name: `import` is a word of the language.
MODULES = {"import": "import_store", "restore": "backup"}
FUNCTIONS = {"import": "import_store"}

INTERRUPTED = 130
BUG = 70


@click.group(
    cls=LazyGroup,
    lazy={
        name: Lazy(f"workbell.cli.{MODULES.get(name, name)}:{FUNCTIONS.get(name, name)}", text, heading)
        for heading, commands in HEADINGS.items()
        for name, text in commands.items()
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
@place_options
@click.version_option(__version__, prog_name="workbell", message="%(prog)s %(version)s")
def workbell() -> None:
    """Background jobs and schedules that need nothing but a file.

    Settings come from an option, else from WORKBELL_URL and its like, else from the nearest workbell.toml.

    With --service most commands work over HTTP, and need no database. --url and --service stand before the command or
    after it.
    """


def main() -> None:
    sys.exit(run())


def run(args: Sequence[str] | None = None, program: str = "workbell") -> int:
    """Run a command, and answer its exit code; the only code that turns errors into exit codes."""
    try:
        answer = workbell.main(args, prog_name=program, standalone_mode=False)
        sys.stdout.flush()
        return answer if isinstance(answer, int) else 0
    except click.ClickException as error:
        _translated(error).show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted.")
        return INTERRUPTED
    except WorkbellError as error:
        _complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        return _end_quietly()
    except SystemExit as end:  # by which click and rich answer a broken pipe, with 1
        if isinstance(end.__context__, BrokenPipeError):
            return _end_quietly()
        raise
    except Exception as error:
        if os.environ.get("WORKBELL_LOG_LEVEL", "").lower() == "debug":
            raise
        _complain(
            f"{type(error).__name__}: {error}. This should not happen; WORKBELL_LOG_LEVEL=debug shows where it did."
        )
        return BUG


def _translated(error: click.ClickException) -> click.ClickException:
    """Suggest our word for an option that other job systems have; click suggests only what is spelt like it.

    A command that refuses `--service` says the same on either side of it.
    """
    from workbell.model.suggestions import translate

    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    if error.option_name == SERVICE and not isinstance(error.ctx.command, click.Group):
        return no_service(error.ctx.command_path, Place("", by_option=True), error.ctx)
    known: dict[str, str] = {}
    for parameter in error.ctx.command.params:
        for word in parameter.opts:
            known[word.lstrip("-")] = repr(word) if word.startswith("-") else f"the argument {word.upper()}"
    ours = translate(error.option_name.lstrip("-"), known)
    if ours is None:
        return error
    return click.NoSuchOption(error.option_name, f"{error.message} Did you mean {known[ours]}?", ctx=error.ctx)


def _end_quietly() -> int:
    """The reader (`head`, a pager) has seen enough; without this the interpreter complains at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _complain(message: str) -> None:
    """One line on stderr, whatever the message contains: it may quote what somebody stored."""
    from workbell.cli.output import echo

    echo(f"workbell: {' '.join(message.split())}", err=True)
