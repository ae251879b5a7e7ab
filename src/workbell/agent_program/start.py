"""Starts an agent from its configuration, and runs it until a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import signal

from workbell.agent_program.config import AgentFolder, read_token, server_address
from workbell.agent_program.handlers import Handlers
from workbell.agent_program.program import Program
from workbell.agent_program.server_connection import ServerConnection
from workbell.errors import SettingsError
from workbell.handlers.registry import Registry
from workbell.remote.asking import call_of
from workbell.remote.pool import trusting
from workbell.version import __version__
from workbell.wire import agents
from workbell.wire.agents import PairBody

log = logging.getLogger("workbell.agent_program")


def run_agent(agent_folder: AgentFolder, registry: Registry | None) -> None:
    """Work until SIGTERM or SIGINT; a second one waits for nothing."""
    handlers = None if registry is None else Handlers(registry, agent_folder.config.capacity)
    asyncio.run(_run(agent_folder, handlers))
    if handlers is not None and handlers.busy:
        logging.shutdown()
        os._exit(0)  # a thread cannot be stopped, and the interpreter would wait for it; its run was handed back


async def _run(agent_folder: AgentFolder, handlers: Handlers | None) -> None:
    if handlers is not None and handlers.left_out:
        names = ", ".join(handlers.left_out)
        log.warning("not run here, because they need a process of their own: %s", names)
    program = _program(agent_folder, handlers)
    if not program.jobs:
        raise SettingsError(
            "This agent can run nothing: name an app or a folder of jobs, or [commands], in agent.toml."
        )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, RuntimeError):
            loop.add_signal_handler(number, program.stop)
    log.info("working for %s: %s", server_address(agent_folder.config).shown, ", ".join(program.jobs))
    await program.run()
    log.info("stopped")


def _program(agent_folder: AgentFolder, handlers: Handlers | None) -> Program:
    config = agent_folder.config
    return Program(
        _connection(agent_folder, read_token(agent_folder.token_file)),
        handlers=handlers,
        commands=config.commands,
        folder=agent_folder.folder,
        capacity=config.capacity,
        lease=config.lease,
        grace=config.grace,
    )


def _connection(agent_folder: AgentFolder, token: str | None) -> ServerConnection:
    ca_file = agent_folder.config.ca_file
    try:
        tls = None if ca_file is None else trusting(str(agent_folder.folder / ca_file))
    except OSError as error:
        raise SettingsError(f"ca_file = {ca_file!r} cannot be read: {error}.") from error
    return ServerConnection(server_address(agent_folder.config), token, tls=tls)


def pair(agent_folder: AgentFolder, text: str) -> tuple[str, str]:
    """Exchange a pairing token at the server; the agent's name, and its own token."""
    config = agent_folder.config
    labels = [*config.labels] or None
    body = PairBody(token=text, name=config.name, labels=labels, host=platform.node(), version=__version__)
    with contextlib.closing(_connection(agent_folder, None)) as connection:
        paired = connection.send(call_of(agents.pair, body=body))
    return paired.agent.name, paired.token
