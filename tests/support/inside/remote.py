"""What tests take of the clients of a service: `workbell.Client` and the agent's program."""

from workbell.agent_program import heartbeat as agent_heartbeat
from workbell.agent_program import held_run
from workbell.agent_program import program as agent_main
from workbell.agent_program import start as agent_start
from workbell.agent_program.config import AgentConfig, AgentFolder
from workbell.agent_program.handlers import Handlers
from workbell.agent_program.heartbeat import AgentHeartbeat
from workbell.agent_program.held_run import HeldRun
from workbell.agent_program.program import Program
from workbell.agent_program.server_connection import ServerConnection
from workbell.remote import following, options, tries
from workbell.remote.address import address_of
from workbell.remote.asking import is_paged
from workbell.remote.call import RemoteCall
from workbell.remote.plans import runs as run_plans
from workbell.remote.transport import ServiceTransport
