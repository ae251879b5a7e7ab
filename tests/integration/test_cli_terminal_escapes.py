"""Texts that users chose never steer the terminal of who looks at them: every command, for people and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.text import Text

from tests.integration.conftest import Folder
from tests.support.command_line import every_command
from tests.support.inside.cli import BUG, cli_package, echo, make_console, print_json, print_json_line
from tests.support.inside.features import Agents
from tests.support.inside.stores import SqliteFiles
from tests.support.inside.values import Settings
from tests.unit.makers import worker_of
from workbell import Cancel, Context, Event, Retry, Workbell
from workbell.testing import drain

NASTY = "\x1b]0;pwned\x07\x9b31m\x7f\u202enasty"  # sets a title, colours and turns round what follows

LEFT_OUT = {
    **dict.fromkeys(["dev", "start", "server", "worker"], "goes on until it is stopped; prints by the same console"),
    "events tail": "goes on until it is stopped; prints events as `events list` does",
    "agent pair": "asks a server over HTTP",
    "probe": "asks a supervisor, whose answers are its own words",
    "import kumofire": "reads an export of another system",
}

# In the order in which they are called; what is in braces is known by the test.
CALLS = {
    "init": "made-here",
    "dispatch": "",
    "consume": "{waiting}",
    "agents list": "",
    "agents show": "box",
    "agents label": "box gpu",
    "agents disable": "box",
    "agents enable": "box",
    "agents pair": "--name other",
    "check": "",
    "jobs list": "",
    "jobs show": "fail",
    "jobs put": "fail-eu --handler fail",
    "jobs update": "fail-eu --timeout 9",
    "jobs disable": "fail-eu",
    "jobs enable": "fail-eu",
    "jobs remove": "fail-eu --yes",
    "jobs pause": "fail",
    "jobs resume": "fail",
    "jobs runs": "fail",
    "jobs run": "fail",
    "runs list": "",
    "runs show": "{failed}",
    "runs logs": "{failed}",
    "runs watch": "{failed}",
    "runs why": "{failed}",
    "runs cancel": "{waiting}",
    "runs retry": "{failed}",
    "queues list": "",
    "queues pause": "default",
    "queues resume": "default",
    "schedules list": "",
    "schedules show": "nightly",
    "schedules add": "more --job fail --cron @daily",
    "schedules update": "nightly --cron @hourly",
    "schedules run": "nightly",
    "schedules pause": "nightly",
    "schedules resume": "nightly",
    "schedules preview": "nightly",
    "schedules ticks": "nightly",
    "schedules remove": "nightly --yes",
    "events emit": "posts.created {{}}",
    "events list": "",
    "events show": "{event}",
    "events match": "posts.created",
    "triggers list": "",
    "triggers show": "counts",
    "triggers add": "more --pattern a.* --job fail",
    "triggers update": "counts --pattern posts.*",
    "triggers disable": "counts",
    "triggers enable": "counts",
    "triggers remove": "counts --yes",
    "webhooks list": "",
    "webhooks show": "{endpoint}",
    "webhooks add": "https://hooks.example.com/more --pattern a.*",
    "webhooks update": "{endpoint} --pattern posts.*",
    "webhooks test": "{endpoint} --timeout 0.1s",
    "webhooks rotate": "{endpoint}",
    "webhooks deliveries": "{endpoint}",
    "webhooks replay": "{endpoint} --since 1h",
    "webhooks disable": "{endpoint}",
    "webhooks enable": "{endpoint}",
    "webhooks seal": "",
    "webhooks new-key": "",
    "webhooks remove": "{endpoint} --yes",
    "workers list": "",
    "workers rewinds": "",
    "workers drain": "{worker}",
    "workers resume": "{worker}",
    "tokens create": "more --scope read",
    "tokens list": "",
    "tokens url": "--at http://localhost:1",
    "tokens revoke": "{token}",
    "tenants list": "",
    "tenants show": "acme",
    "tenants set": "acme --weight 3",
    "tenants remove": "acme --yes",
    "audit": "",
    "doctor": "",
    "migrate": "",
    "backup": "backup.db",
    "restore": "backup.db",
    "copy": "--force --to sqlite:///copy.db",
    "bridge write": "bridge",
    "agents remove": "box --yes",
}


@pytest.fixture
def known(folder: Folder, sqlite_files: SqliteFiles) -> Iterator[dict[str, str]]:
    """A store in which everything that a user can say is nasty, and the names of what is in it."""
    folder.write("workbell.toml", 'url = "sqlite:///own.db"\njobs = "jobs"\n')
    folder.write("jobs/broken.py", f"raise ValueError({NASTY!r})\n")
    with Workbell(sqlite_files.make(folder.path / "own.db")) as bell:

        @bell.job(retry=Retry(attempts=1), description=NASTY)
        def fail(ctx: Context, text: str = NASTY) -> None:
            ctx.logger.error(text)
            ctx.progress(1, 2, text)
            raise ValueError(text)

        @bell.job
        def stop() -> Cancel:
            return Cancel(NASTY)

        @bell.processor("count")
        def count(event: Event) -> dict[str, str]:
            return {"text": NASTY}

        bell.triggers.add("counts", pattern="posts.*", processor="count", description=NASTY)
        event = bell.emit("posts.created", {"text": NASTY}, subject="x")
        endpoint = bell.webhooks.add("https://hooks.example.com/x", patterns=["a.*"], description=NASTY).endpoint
        bell.webhooks.disable(endpoint.id, NASTY)
        failed, canceled = fail.enqueue(text=NASTY), stop.enqueue()
        drain(bell)
        bell.schedules.put("nightly", job="fail", cron="0 3 * * *", description=NASTY, input={"text": NASTY})
        bell.tenants.put("acme", weight=2, description=NASTY)
        bell.audit.add("things.made", NASTY, actor=NASTY, detail={"text": NASTY})
        agents = Agents(bell.runtime, bell.verified, Settings().lease_span)
        agents.pair(agents.pairing("box")[1], host=NASTY, version=NASTY)
        worker = worker_of("fail", now=bell.store.clock.now(), host=NASTY, version=NASTY)
        bell.store.workers.put(worker)
        waiting = fail.options(delay=3600).enqueue(text=NASTY)
        token = bell.tokens.create("t", created_by=NASTY).token
        yield {
            "failed": failed.id,
            "canceled": canceled.id,
            "waiting": waiting.id,
            "event": event.id,
            "endpoint": endpoint.id,
            "worker": worker.id,
            "token": token.id,
        }


def assert_harmless(text: str) -> None:
    found = re.search(r"[^\n]*?[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e][^\n]*", text)
    assert found is None, found


def test_every_command_is_called_here() -> None:
    assert {name for name, _ in every_command()} == CALLS.keys() | LEFT_OUT.keys()


def test_no_command_prints_control_characters(folder: Folder, known: dict[str, str]) -> None:
    with_json = {name for name, one in every_command() if any("--json" in option.opts for option in one.params)}
    nasty = 0
    for name, rest in CALLS.items():
        arguments = [*name.split(), *(part.format_map(known) for part in rest.split())]
        for more in ([], ["--json"]) if name in with_json else ([],):
            answer = folder.call(*arguments, *more)
            assert answer.code != BUG, (name, answer)
            assert "Usage:" not in answer.error, (name, answer)
            assert_harmless(answer.out)
            assert_harmless(answer.error)
            nasty += "pwned" in answer.out
    assert nasty > 20, "there is something to look at"


def test_a_canceled_run_and_a_refusal_quote_no_escapes(folder: Folder, known: dict[str, str]) -> None:
    for arguments in (["runs", "why", known["canceled"]], ["runs", "show", known["canceled"]]):
        answer = folder.call(*arguments)
        assert "nasty" in answer.out
        assert_harmless(answer.out)
    answer = folder.call("runs", "show", NASTY)
    assert answer.code != 0
    assert_harmless(answer.error)


def test_a_terminal_gets_our_colours_and_nothing_of_users(capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    console = make_console(terminal)
    console.print(Text(f"a{NASTY}b", "bold red"))
    console.print(f"a{NASTY}b", markup=False)
    shown = terminal.getvalue()
    assert "pwned" in shown
    assert_harmless(re.sub(r"\x1b\[[\d;]*m", "", shown))
    echo(f"a{NASTY}\nb")
    assert_harmless(capsys.readouterr().out)


def test_json_means_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": f"{NASTY} ä 😀 \U000e0001", "line": "a\nb"}
    print_json(value)
    print_json_line(value)
    out = capsys.readouterr().out
    assert_harmless(out)
    pretty, _, line = out.rstrip("\n").rpartition("\n")
    assert json.loads(pretty) == json.loads(line) == value


def test_commands_print_through_one_place() -> None:
    """`echo` and the console of `output.py` clean what they print; whoever prints otherwise must clean it too."""
    folder = Path(next(iter(cli_package.__path__)))
    direct = re.compile(r"click\.s?echo\(|(?<![\w.])print\(|sys\.std(out|err)\.write|\bConsole\(")
    found = {
        str(file.relative_to(folder))
        for file in folder.rglob("*.py")
        if direct.search(re.sub(r"class \w+\(Console\)", "", file.read_text("utf-8")))
    }
    assert found <= {"output.py"}
