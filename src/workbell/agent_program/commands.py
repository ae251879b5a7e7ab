"""Commands that an agent may run: argument lists from its own configuration, filled from a run's input.

No shell is ever involved, and whatever a value contains, it stays one argument. One that begins with a dash could be
read as an option by the program, so it is refused where it would begin an argument, unless `--` stands before it, with
nothing but whole values between: the `--` of a wrapper such as `env` says nothing about the program that it runs, be
that `/bin/ls` or `/opt/{version}/ls`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from workbell.errors import SettingsError
from workbell.model.json_text import clean_text, encode
from workbell.model.outcome import Failed, Outcome, Returned
from workbell.model.run import Run

TAIL = 64 * 1024  # bytes of output that are stored, the last ones
KILL_AFTER = 5.0  # seconds between SIGTERM and SIGKILL
OUTPUT_GRACE = 1.0  # seconds to read the rest of the output after the end
ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w.]*)\}|[{}]")
_VALUES = re.compile(r"(?:\{[A-Za-z_][\w.]*\})+")  # an argument with no text of its own


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program and its arguments, `{field}` standing for a value of the input."""

    command: tuple[str, ...]
    timeout: float | None = None
    cwd: str | None = None
    env: tuple[str, ...] = ENVIRONMENT  # variables of the agent's environment that it may see


class CannotFill(Exception):
    """The input does not fit the command."""


def check_command(name: str, command: Command) -> None:
    if not command.command or not command.command[0]:
        raise SettingsError(
            f'commands.{name}: command is empty; write a list such as ["/usr/bin/rsync", "{{source}}"].'
        )
    if _PLACEHOLDER.search(command.command[0]):
        raise SettingsError(f"commands.{name}: the program itself cannot come from a run's input; name it.")
    for argument in command.command:
        if any(found[0] in "{}" for found in _PLACEHOLDER.finditer(argument)):
            raise SettingsError(f"commands.{name}: {argument!r}: write {{field}} for a value, and {{{{ for a brace.")
    if command.timeout is not None and command.timeout <= 0:
        raise SettingsError(f"commands.{name}: timeout = {command.timeout:g} is not more than 0.")


def fill(command: Command, given: Mapping[str, Any]) -> list[str]:
    """The argument list for an input."""
    filled: list[str] = []
    options_end = False
    for argument in command.command:
        text = _PLACEHOLDER.sub(lambda found: _piece(found, given), argument)
        begins_with_value = _PLACEHOLDER.match(argument) is not None and argument[:2] not in ("{{", "}}")
        if begins_with_value and text.startswith("-") and not options_end:
            raise CannotFill(
                f"{text[:40]!r} would be read as an option; put '--' right before it in the command, if it may be"
            )
        options_end = argument == "--" or (options_end and _VALUES.fullmatch(argument) is not None)
        filled.append(text)
    return filled


def _piece(found: re.Match[str], given: Mapping[str, Any]) -> str:
    if found[1] is None:
        return found[0][0]  # a doubled brace is a brace
    value: Any = given
    for part in found[1].split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise CannotFill(f"the input has no field {found[1]!r}")
        value = value[part]
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise CannotFill(f"the field {found[1]!r} is neither a text nor a number")
    if "\x00" in str(value):
        raise CannotFill(f"the field {found[1]!r} has a NUL in it, which no argument can have")
    return str(value)


async def run_command(name: str, command: Command, run: Run, folder: Path, stop: asyncio.Event) -> Outcome | None:
    """Execute a command for a run; None if it was stopped on request. The tail of its output is the result."""
    try:
        arguments = fill(command, run.input)
        process = await asyncio.create_subprocess_exec(
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder / command.cwd if command.cwd else folder,
            env=_environment(command, run),
            start_new_session=True,  # so that what it starts can be ended with it
        )
    except CannotFill as error:
        return Failed(f"command {name}: {error}.", "input", final=True)
    except (OSError, ValueError) as error:
        return Failed(f"command {name} could not be started: {error}.", "command", final=True)
    output = OutputTail()
    reading = asyncio.create_task(output.read(process))
    ending = asyncio.create_task(process.wait())
    stopping = asyncio.create_task(stop.wait())
    # The shorter one: the configuration of this machine is a bound.
    limit = min((one for one in (command.timeout, run.options.timeout) if one is not None), default=None)
    try:
        both: list[asyncio.Future[Any]] = [ending, stopping]
        await asyncio.wait(both, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            await asyncio.wait([reading], timeout=OUTPUT_GRACE)  # a child of it may hold its output open
            return _ended(name, ending.result(), output.text())
        if stopping.done():
            return None
        partial = {"output": output.text()}
        return Failed(f"command {name} did not end within {limit:g} s.", "timeout", result=_fitting(partial))
    finally:
        await _end(process)
        for task in (reading, ending, stopping):
            task.cancel()
        await asyncio.gather(reading, ending, stopping, return_exceptions=True)


def _ended(name: str, code: int, output: str) -> Outcome:
    result = _fitting({"exit_code": code, "output": output})
    if code == 0:
        return Returned(result)
    how = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
    last = output.strip().splitlines()[-1:] or [""]
    return Failed(clean_text(f"command {name} {how}. {last[0]}".strip(), 2000), "command", result=result)


def _fitting(result: dict[str, Any]) -> str:
    """A result as JSON. Escapes can make it several times as long: then less of the output is stored."""
    while True:
        try:
            return encode("the command's result", result)
        except Exception:  # noqa: BLE001
            half = len(result["output"]) // 2
            result = result | {"output": result["output"][-half:] if half else ""}


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process group: SIGTERM, then SIGKILL."""
    if process.returncode is not None:
        return
    _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILL_AFTER):
            await process.wait()
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _environment(command: Command, run: Run) -> dict[str, str]:
    given = {name: os.environ[name] for name in command.env if name in os.environ}
    return given | {"WORKBELL_RUN": run.id, "WORKBELL_ATTEMPT": str(run.attempt)}


class OutputTail:
    """Tail of a command's output."""

    def __init__(self) -> None:
        self._tail = bytearray()

    async def read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while piece := await process.stdout.read(TAIL):
            self._tail += piece
            del self._tail[:-TAIL]

    def text(self) -> str:
        return clean_text(self._tail.decode("utf-8", "replace"), TAIL)
