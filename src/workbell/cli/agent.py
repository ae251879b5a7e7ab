"""`workbell agent`: run jobs of a remote server on this machine; `workbell agent pair` registers it there."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from workbell.cli.output import echo, print_json
from workbell.cli.project import json_option
from workbell.errors import MissingPackage, SettingsError
from workbell.handlers.registry import Registry
from workbell.logs import set_up
from workbell.settings import Settings, load

if TYPE_CHECKING:
    from workbell.agent_program.config import AgentConfig

config_option = click.option(
    "--config", "file", default="agent.toml", show_default=True, metavar="FILE", help="The agent's configuration."
)


@click.group(
    invoke_without_command=True,
    help="Work here for a server on another machine, over HTTP: take the runs that target this agent.",
)
@config_option
@click.pass_context
def agent(context: click.Context, file: str) -> None:
    context.obj = file
    if context.invoked_subcommand is not None:
        return
    _need_packages()
    from workbell.agent_program.config import read_config
    from workbell.agent_program.start import run_agent

    settings = load()
    set_up(settings.log_level, settings.log_format)
    agent_folder = read_config(Path(file))
    run_agent(agent_folder, _registry(agent_folder.config.app, agent_folder.config.jobs, agent_folder.folder))


def _need_packages() -> None:
    """Check for the extra first, before a configuration is needed."""
    if find_spec("httpx2") is None:
        raise MissingPackage("`workbell agent` needs httpx2: pip install 'workbell[agent]'.")


def _registry(app: str | None, jobs: str | None, folder: Path) -> Registry | None:
    """The jobs that are run here: of an app, of job files, or both; none, if only commands are."""
    if app is None and jobs is None:
        return None
    from workbell.app import Workbell
    from workbell.boot.load_app import load_app

    bell = Workbell(settings=Settings(url="memory://")) if app is None else load_app(app, folder)
    if jobs is not None:
        from workbell.job_files import JobFiles

        change = JobFiles(folder, jobs).reload()
        if change.problems:
            first = change.problems[0]
            raise SettingsError(f"{first.path}:{first.line or 1}: {first.message}")
        bell.registry.replace([bell.engine.job_of(found) for found in change.loaded], ())
    return bell.registry


@agent.command(help="Pair this machine with a server, and keep the token that it gets in a file only you can read.")
@config_option
@click.option("--url", help="The server: https://host; otherwise that of the configuration.")
@click.option("--token", help="The pairing token; otherwise it is read from standard input.")
@click.option("--name", help="The agent's name, if the pairing does not set it.")
@click.option("--label", "labels", multiple=True, help="A label that the pairing must give; may be repeated.")
@click.option("--insecure", is_flag=True, help="Let the token go over plain HTTP to another machine.")
@json_option
@click.pass_obj
def pair(
    above: str,
    file: str,
    url: str | None,
    token: str | None,
    name: str | None,
    labels: tuple[str, ...],
    insecure: bool,
    as_json: bool,
) -> None:
    _need_packages()
    from workbell.agent_program import start
    from workbell.agent_program.config import AgentFolder, paired_config, read_config, write_token

    path = Path(above if file == "agent.toml" else file)
    known = read_config(path) if path.exists() else None
    if known is None and url is None:
        raise SettingsError(f"--url: there is no {path} that names the server; say which, as https://host.")
    requested: dict[str, Any] = {"url": url, "name": name, "labels": labels or None, "insecure": insecure or None}
    given = {word: value for word, value in requested.items() if value is not None}
    config = paired_config(path, None if known is None else known.config, given)
    agent_folder = AgentFolder(config, path.resolve().parent)
    text = (token or _asked_for()).strip()
    called, own = start.pair(agent_folder, text)
    write_token(agent_folder.token_file, own)
    if known is None:
        path.write_text(_first_config(config, called), "utf-8")
    if as_json:
        print_json({"name": called, "config": str(path), "token_file": str(agent_folder.token_file)})
    else:
        token_file = os.path.relpath(agent_folder.token_file)
        echo(f"Paired as {called}. The token is in {token_file}; say in {path} what may be run here.")


def _asked_for() -> str:
    """The pairing token as it is piped here, or typed."""
    if sys.stdin.isatty():
        typed: str = click.prompt("The pairing token", hide_input=True, err=True)
        return typed
    return sys.stdin.readline()


def _first_config(config: AgentConfig, name: str) -> str:
    quoted = msgspec.json.encode
    insecure = "insecure = true\n" if config.insecure else ""
    return (
        f"url = {quoted(config.url).decode()}\n"
        f"name = {quoted(name).decode()}\n"
        f"token_file = {quoted(config.token_file).decode()}\n{insecure}"
        "\n"
        '# What may be run here: the jobs of an application (app = "module:bell"), a folder of job files\n'
        '# (jobs = "jobs"), or commands. {field} is a value of a run\'s input, and always one argument.\n'
        "#\n"
        "# [commands.backup]\n"
        '# command = ["/usr/bin/rsync", "-a", "--", "{source}", "/backup/"]\n'
        "# timeout = 3600\n"
    )
