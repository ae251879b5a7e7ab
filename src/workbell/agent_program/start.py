"""Starts an agent from its configuration, and runs it until a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import signal
import ssl
from typing import Any

import httpx2

from workbell.agent_program.config import AgentConfig, AgentFolder, check_url, read_token
from workbell.agent_program.handlers import Handlers
from workbell.agent_program.program import Program
from workbell.agent_program.server_connection import (
    PREFIX,
    ServerConnection,
    ThreadConnection,
    headers,
    read,
    timeout,
    tls,
)
from workbell.errors import ServiceUnavailable, SettingsError
from workbell.handlers.registry import Registry
from workbell.version import __version__

log = logging.getLogger("workbell.agent_program")


def run_agent(agent_folder: AgentFolder, registry: Registry | None) -> None:
    """Work until SIGTERM or SIGINT; a second one waits for nothing."""
    handlers = None if registry is None else Handlers(registry, agent_folder.config.capacity)
    asyncio.run(_run(agent_folder, handlers))
    if handlers is not None and handlers.busy:
        logging.shutdown()
        os._exit(0)  # a thread cannot be stopped, and the interpreter would wait for it; its run was handed back


async def _run(agent_folder: AgentFolder, handlers: Handlers | None) -> None:
    config = agent_folder.config
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
    log.info("working for %s: %s", config.url, ", ".join(program.jobs))
    await program.run()
    log.info("stopped")


def _program(agent_folder: AgentFolder, handlers: Handlers | None) -> Program:
    config = agent_folder.config
    token = read_token(agent_folder.token_file)
    context = _context(agent_folder)
    base = check_url(config.url, insecure=config.insecure)
    connection = ServerConnection(
        httpx2.AsyncClient(base_url=base, headers=headers(token, __version__), verify=context)
    )
    own = ThreadConnection(httpx2.Client(base_url=base, headers=headers(token, __version__), verify=context))
    return Program(
        connection,
        own,
        handlers=handlers,
        commands=config.commands,
        folder=agent_folder.folder,
        capacity=config.capacity,
        lease=config.lease,
        grace=config.grace,
    )


def _context(agent_folder: AgentFolder) -> ssl.SSLContext:
    ca_file = agent_folder.config.ca_file
    try:
        return tls(None if ca_file is None else str(agent_folder.folder / ca_file))
    except OSError as error:
        raise SettingsError(f"ca_file = {ca_file!r} cannot be read: {error}.") from error


def pair(config: AgentConfig, agent_folder: AgentFolder, text: str) -> tuple[str, str]:
    """Exchange a pairing token at the server; the agent's name, and its own token."""
    base = check_url(config.url, insecure=config.insecure)
    body: dict[str, Any] = {"token": text, "host": platform.node(), "version": __version__}
    body |= {"name": config.name} if config.name is not None else {}
    body |= {"labels": list(config.labels)} if config.labels else {}
    with httpx2.Client(base_url=base, verify=_context(agent_folder)) as client:
        try:
            answer = read(client.post(f"{PREFIX}/agents/pair", json=body, timeout=timeout()))
        except (httpx2.HTTPError, OSError) as error:
            raise ServiceUnavailable(f"{base} could not be reached: {error}.") from error
    return answer["agent"]["name"], answer["token"]
