"""Commands of an agent: an input fills arguments and nothing else, and what is started is really ended (E7)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.waiting import until
from tests.unit.makers import run_in
from workbell.agent_program.commands import TAIL, CannotFill, Command, check_command, fill, run_command
from workbell.errors import SettingsError
from workbell.model.json_text import decode, encode
from workbell.model.outcome import Failed, Outcome, Returned
from workbell.model.run import Run, Status


def command(*arguments: str, **settings: Any) -> Command:
    return Command(command=arguments, **settings)


def run_with(**given: Any) -> Run:
    return run_in(Status.RUNNING, input_text=encode("input", given))


@pytest.mark.parametrize(
    "evil",
    ["; rm -rf /", "$(id)", "`id`", "a b\tc", "'\"", "a\nb", "*", "~", "%s", "{other}", "{{}}", "&& id", "| id", "\\"],
)
def test_a_value_stays_one_argument(evil: str) -> None:
    wanted = ["/bin/x", evil, f"--source={evil}:", "literal"]
    assert fill(command("/bin/x", "{source}", "--source={source}:", "literal"), {"source": evil, "other": 1}) == wanted


def test_what_fills_a_place() -> None:
    asked = command("x", "{a}{b}", "{c.d}", "{{a}}", "{e}")
    assert fill(asked, {"a": 1, "b": 2.5, "c": {"d": "ü"}, "e": True}) == ["x", "12.5", "ü", "{a}", "true"]


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, "a\x00b"])
def test_what_cannot_be_an_argument(value: Any) -> None:
    with pytest.raises(CannotFill, match="'a'"):
        fill(command("x", "{a}"), {"a": value})
    with pytest.raises(CannotFill, match="no field 'b'"):
        fill(command("x", "{b}"), {"a": value})


def test_a_value_is_never_an_option() -> None:
    """A program would take `--rsh=…` for an option, and run what it says, without any shell."""
    with pytest.raises(CannotFill, match="read as an option"):
        fill(command("rsync", "{source}", "/backup"), {"source": "--rsh=sh -c id"})
    assert fill(command("rsync", "--", "{source}"), {"source": "-x"}) == ["rsync", "--", "-x"]
    assert fill(command("x", "--level={n}"), {"n": -5}) == ["x", "--level=-5"]


@pytest.mark.parametrize("program", ["/bin/ls", "/opt/{version}/ls", "{version}/ls", "/opt/{{x}}/ls"])
def test_two_dashes_hold_for_the_values_behind_them_alone(program: str) -> None:
    """Those of a wrapper such as `env` end its own options, and not those of the program that it runs."""
    with pytest.raises(CannotFill, match="read as an option"):
        fill(command("/usr/bin/env", "--", program, "{folder}"), {"version": "2", "folder": "-la"})
    wrapped = command("/usr/bin/env", "--", "/bin/ls", "--", "{first}", "{second}")
    assert fill(wrapped, {"first": "-a", "second": "-b"})[-2:] == ["-a", "-b"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "is empty"), (("",), "is empty"), (("{program}",), "cannot come from"), (("x", "{a b}"), "for a brace")],
)
def test_commands_that_cannot_be_used(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        check_command("backup", command(*arguments))


def execute(asked: Command, run: Run, folder: Path, stop_when: Path | None = None) -> Outcome | None:
    async def main() -> Outcome | None:
        stop = asyncio.Event()
        going = asyncio.create_task(run_command("it", asked, run, folder, stop))
        if stop_when is not None:
            await asyncio.to_thread(until, stop_when.exists)
            stop.set()
        return await going

    return asyncio.run(main())


def python(code: str, *arguments: str, **settings: Any) -> Command:
    return command(sys.executable, "-c", code, *arguments, **settings)


def result_of(outcome: Outcome | None) -> Any:
    assert isinstance(outcome, Returned | Failed)
    return decode(outcome.result)


def test_output_and_exit_code_are_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    code = "import os, sys; print(os.environ.get('SECRET'), os.environ['WORKBELL_RUN'], os.getcwd(), sys.argv[1:])"
    run = run_with(text="; id")
    outcome = execute(python(code, "{text}"), run, tmp_path)
    assert result_of(outcome) == {"exit_code": 0, "output": f"None {run.id} {tmp_path} ['; id']\n"}
    outcome = execute(python("print('why'); raise SystemExit(3)"), run, tmp_path)
    assert isinstance(outcome, Failed)
    assert outcome.error == "command it ended with exit code 3. why"
    assert result_of(outcome) == {"exit_code": 3, "output": "why\n"}


def test_only_the_last_of_much_output_is_kept(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\x00\\xff' * 1_000_000 + b'end')"
    found = result_of(execute(python(code), run_with(), tmp_path))["output"]
    assert found.endswith("end")
    assert len(found) <= TAIL


def test_what_cannot_be_started_is_a_failure_for_good(tmp_path: Path) -> None:
    for asked, reason in ((command("/no/such/program"), "command"), (command("/bin/echo", "{missing}"), "input")):
        outcome = execute(asked, run_with(), tmp_path)
        assert isinstance(outcome, Failed)
        assert (outcome.reason, outcome.final) == (reason, True)


CHILD = "import os, time, pathlib; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(60)"
PARENT = (
    "import subprocess, sys, time, pathlib; subprocess.Popen([sys.executable, '-c', sys.argv[1]]);"
    "exec(\"while not pathlib.Path('pid').exists(): time.sleep(0.005)\"); pathlib.Path('up').touch(); time.sleep(60)"
)


def is_gone(folder: Path) -> bool:
    try:
        state = Path(f"/proc/{int((folder / 'pid').read_text())}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_a_command_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    assert execute(python(PARENT, CHILD), run_with(), tmp_path, stop_when=tmp_path / "up") is None
    until(lambda: is_gone(tmp_path), "the command's child to be gone")


def test_a_command_that_takes_too_long(tmp_path: Path) -> None:
    outcome = execute(
        python("print('so far', flush=True); import time; time.sleep(60)", timeout=0.5), run_with(), tmp_path
    )
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.final) == ("timeout", False)


@pytest.mark.parametrize(("own", "of_run"), [(0.5, 60.0), (60.0, 0.5)])
def test_the_shorter_timeout_counts(tmp_path: Path, own: float, of_run: float) -> None:
    """The configuration of a machine is a bound: no run may go beyond it."""
    run = msgspec.structs.replace(run_with(), options_text=f'{{"timeout":{of_run}}}')
    outcome = execute(python("import time; time.sleep(30)", timeout=own), run, tmp_path)
    assert isinstance(outcome, Failed)
    assert "did not end within 0.5 s" in outcome.error
