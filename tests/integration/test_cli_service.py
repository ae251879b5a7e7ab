"""`workbell --service URL`: the same commands, on a store and over HTTP, print the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import Answer, assert_refused
from tests.support.inside.stores import SqliteFiles
from tests.support.inside.values import Settings
from tests.support.served import Served, served
from workbell import Context, Event, Retry, Workbell
from workbell.testing import drain

HOOK = "https://hooks.example.com/hook?key=1"  # nothing is sent there


class Side:
    """One of two stores with the same content, and how commands reach it."""

    def __init__(self, folder: Folder, bell: Workbell, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        self.folder = folder
        self.bell = bell
        self._before, self._after = before, after
        self.names: dict[str, str] = {}  # ids that were printed before, by the words of the script

    def call(self, line: str, *more: str) -> Answer:
        words = [word.format_map(self.names) if "{" in word else word for word in line.split(" ")]
        return self.folder.call(*self._before, *words, *more, *self._after)


class Both:
    """The store itself and the service before another store of the same content."""

    def __init__(self, local: Side, remote: Side, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sides = (local, remote)
        self.local, self.remote = self.sides
        self.server = server
        self.monkeypatch = monkeypatch

    def drain(self) -> None:
        for side in self.sides:
            drain(side.bell)

    def ask(self, line: str, *more: str, name: str | None = None, code: int = 0) -> Any:
        """What a command prints with --json, the same on both sides; its id gets a name for the commands to come."""
        answers = [side.call(line, *more, "--json") for side in self.sides]
        assert [answer.code for answer in answers] == [code, code], answers
        found = [msgspec.json.decode(answer.out) for answer in answers]
        if name is not None:
            for side, value in zip(self.sides, found, strict=True):
                side.names[name] = (value[0] if isinstance(value, list) else value)["id"]
        assert self.scrubbed(found[1], self.remote) == self.scrubbed(found[0], self.local)
        return found[0]

    def read(self, line: str, *more: str, code: int = 0) -> str:
        """What it prints for people, the same on both sides."""
        answers = [side.call(line, *more) for side in self.sides]
        assert [answer.code for answer in answers] == [code, code], answers
        local, remote = (
            [plain(text, side) for text in (answer.out, answer.error)]
            for answer, side in zip(answers, self.sides, strict=True)
        )
        assert remote == local
        return local[0]

    def scrubbed(self, value: Any, side: Side) -> Any:
        """Without ids, times and secrets, which differ between two stores."""
        if isinstance(value, dict):
            return {key: "…" if key in APART else self.scrubbed(one, side) for key, one in value.items()}
        if isinstance(value, list):
            return [self.scrubbed(one, side) for one in value]
        return plain(value, side) if isinstance(value, str) else value


# Who did it and from where, what is secret, and the key by which an answer that is lost makes nothing twice.
APART = frozenset("token secret created_by actor address last_used_at detail command key".split())


def plain(text: str, side: Side) -> str:
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text)
    for known in side.names.values():
        text = text.replace(known[-8:], "PART")
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:\d\d)?", "TIME", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "CLOCK", text)
    text = re.sub(r"<?[\d.,]+ (ms|s|min|h)( ago)?( +)?", "SPAN ", text)
    text = re.sub(r" +(key|by) +(http:|token:|ID).*\n", "", text)
    text = re.sub(r"\bwb_\w+|whsec_[\w+/=]+", "SECRET", text)
    return re.sub(r" +", " ", text)


def make_bell(sqlite_files: SqliteFiles, path: Any) -> Workbell:
    bell = Workbell(store=sqlite_files.open(path), settings=Settings(http_port=0, http_log="problems"))

    @bell.job
    def send(ctx: Context, to: str, urgent: bool = False) -> dict[str, str]:
        """Send a mail."""
        ctx.logger.info("to %s", to)
        ctx.progress(1, 2, message="half")
        return {"sent": to}

    @bell.job(queue="slow", retry=Retry(attempts=1))
    def fail(reason: str) -> None:
        raise ValueError(reason)

    @bell.processor("count")
    def count(event: Event) -> dict[str, str]:
        return {"type": event.type}

    bell.runtime.declare_jobs({"send", "fail", "count"})
    return bell


@pytest.fixture
def both(folder: Folder, sqlite_files: SqliteFiles, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    with ExitStack() as stack:
        bells = [stack.enter_context(make_bell(sqlite_files, folder.path / f"{name}.db")) for name in ("own", "far")]
        server = stack.enter_context(served(bells[1]))
        monkeypatch.setenv("WORKBELL_TOKEN", bells[1].tokens.create("root", scopes=["admin"], tenant="*").text)
        bells[0].tokens.create("root", scopes=["admin"], tenant="*")
        local = Side(folder, bells[0], (), ("--url", "sqlite:///own.db"))
        yield Both(local, Side(folder, bells[1], ("--service", server.url), ()), server, monkeypatch)


def test_runs(both: Both) -> None:
    both.ask("jobs run send --tag t1 --input", '{"to": "ada"}', name="sent")
    both.ask("jobs run fail --input", '{"reason": "no ink"}', name="failed")
    both.ask("jobs run send --delay 1h --input", '{"to": "bob"}', name="later")
    both.drain()
    assert [run["status"] for run in both.ask("runs list")] == ["scheduled", "failed", "succeeded"]
    assert len(both.ask("runs list --status failed --since 1h --job fail")) == 1
    assert "no ink" in both.read("runs list")
    both.ask("runs list --before {failed}")
    for name in ("sent", "failed", "later"):
        shown = both.ask(f"runs show {{{name}}}")
        assert shown["why"]
        both.read(f"runs show {{{name}}}")
        both.read(f"runs why {{{name}}}")
        both.ask(f"runs why {{{name}}}")
    assert [line["message"] for line in both.ask("runs logs {sent}")] == ["to ada"]
    assert "to ada" in both.read("runs logs -f {sent}")
    assert "sent" in both.read("runs watch {sent}")
    watched = [side.call("runs watch {failed} --json") for side in both.sides]
    assert [(one.code, json.loads(one.out)["run"]["status"]) for one in watched] == [(1, "failed")] * 2
    both.ask("runs retry {failed}", name="again")
    assert both.ask("runs show {failed}")["retried_by"]["status"] == "queued"
    both.ask("runs cancel {later} --reason", "too late")
    assert "has ended already" in both.read("runs cancel {later}")
    assert both.ask("jobs runs send")[0]["status"] == "completed"


def test_runs_in_bulk(both: Both) -> None:
    for _ in range(3):
        both.ask("jobs run fail --input", '{"reason": "no ink"}')
    both.drain()
    assert both.ask("runs retry --all --job fail --dry-run") == {"count": 3, "capped": False, "run": None}
    assert both.ask("runs cancel --all --job fail --dry-run") == {"count": 0, "capped": False, "run": None}
    assert both.ask("runs retry --all --job fail --yes")["run"]["job"] == "bulk-action"
    both.ask("runs list --job bulk-action", name="bulk")
    both.drain()
    assert both.ask("runs show {bulk}")["result"]["done"] == 3
    both.read("runs retry --all --status running --dry-run", code=1)


def test_a_part_of_an_id(both: Both) -> None:
    both.ask("jobs run send --input", '{"to": "ada"}', name="sent")
    for side in both.sides:
        assert side.names["sent"] in side.call(f"runs show {side.names['sent'][-8:]}").out
    assert both.remote.call("runs show ffffffffff").code == 4
    assert "of the token's tenant" in both.remote.call("runs show ffffffffff").error
    assert "of tenant default" in both.remote.call("runs show ffffffffff --tenant default").error


def test_jobs(both: Both) -> None:
    both.ask("jobs put urgent --handler send --queue slow --retry-delay 2 --input", '{"urgent": true}')
    assert [job["name"] for job in both.ask("jobs list")]
    both.ask("jobs show urgent")
    both.ask("jobs disable urgent")
    both.ask("jobs enable urgent")
    both.ask("jobs pause urgent")
    assert both.ask("jobs show urgent")["paused"]
    both.read("jobs list")
    both.ask("jobs resume urgent")
    assert both.ask("jobs remove urgent --yes")["removed"]
    both.read("jobs show nothing", code=4)


def test_queues_and_workers(both: Both) -> None:
    both.ask("queues pause slow")
    both.ask("queues pause default --job send")
    assert [queue["name"] for queue in both.ask("queues list")]
    both.read("queues list")
    both.ask("queues resume slow")
    assert both.ask("workers list") == []
    both.read("workers drain nobody", code=4)


def test_schedules(both: Both) -> None:
    both.ask("schedules add nightly --job send --cron", "0 3 * * *", "--timezone", "UTC", "--input", '{"to": "ada"}')
    both.read("schedules add nightly --job send --every 60", code=1)
    both.ask("schedules update nightly --window 02:00-06:00 --attempts 4")
    both.ask("schedules list")
    both.read("schedules list")
    both.ask("schedules show nightly")
    both.read("schedules show nightly")
    both.ask("schedules preview nightly --after 2026-11-16T09:00:00Z")
    both.read("schedules preview nightly --after 2026-11-16T09:00:00Z")
    both.ask("schedules run nightly", name="made")
    both.ask("schedules pause nightly")
    both.ask("schedules resume nightly")
    assert both.ask("schedules ticks nightly") == []
    both.ask("schedules remove nightly --yes")
    both.read("schedules show nightly", code=4)


def test_events_and_triggers(both: Both) -> None:
    both.ask("triggers add counted --pattern posts.* --job count", name="trigger")
    both.ask("events emit posts.created", '{"id": 7}', "--subject", "7", name="event")
    both.drain()
    assert both.ask("events list")
    both.read("events list")
    assert both.ask("events show {event}")["matches"][0]["run_status"] == "succeeded"
    both.read("events show {event}")
    assert both.ask("events match posts.created")
    both.read("events match nothing.else")
    assert both.ask("triggers show counted")["last_matches"][0]["type"] == "posts.created"
    both.read("triggers show counted")
    run = both.ask("runs list --job count", name="run")[0]
    assert run["event"] is not None
    assert both.ask("runs show {run}")["event_type"] == "posts.created"
    assert "counted" in both.read("runs show {run}")
    both.ask("triggers update counted --pattern posts.created")
    both.ask("triggers disable counted")
    both.ask("triggers enable counted")
    both.ask("triggers list")
    both.read("triggers list")
    both.ask("triggers remove counted --yes")


def test_webhooks(both: Both) -> None:
    assert both.ask("webhooks add", HOOK, "--pattern", "posts.*", "--header", "X-A: 1", name="hook")["secret"]
    both.ask("webhooks list")
    both.read("webhooks list")
    both.ask("webhooks show {hook}")
    assert "key=1" not in both.read("webhooks show {hook}")
    both.ask("webhooks update {hook} --rate 10/s --attempts 2")
    both.ask("webhooks update {hook} --attempts 3")
    both.ask("webhooks rotate {hook} --overlap 1h")
    both.read("webhooks show {hook}")
    both.ask("webhooks disable {hook} --reason", "too slow")
    both.read("webhooks show {hook}")
    both.ask("webhooks enable {hook}")
    assert both.ask("webhooks deliveries {hook}") == []
    assert both.ask("webhooks replay {hook} --since 1h") == []
    assert both.ask("webhooks test {hook} --timeout 0", name="ping", code=3)["status"] == "queued"
    both.read("webhooks deliveries {hook}")
    both.ask("webhooks remove {hook} --yes")


def test_tokens_tenants_and_agents(both: Both) -> None:
    both.ask("tokens create grafana --expires 1d", name="token")
    both.ask("tokens create --every-tenant --scope enqueue every")
    assert len(both.ask("tokens list")) == 3
    both.ask("tokens revoke {token}")
    both.ask("tenants set acme --weight 3 --rate 10/s")
    both.ask("tenants list")
    both.ask("tenants show acme")
    both.ask("tenants remove acme --yes")
    both.ask("agents pair --name box --label gpu")
    assert both.ask("agents list") == []
    both.read("agents show box", code=4)
    assert both.server.url in json.loads(both.remote.call("agents pair --json").out)["command"]


def test_rounds(both: Both) -> None:
    both.ask("jobs run send --input", '{"to": "ada"}')
    token = both.remote.bell.tokens.create("cron", scopes=["dispatch", "consume"], tenant="*")
    both.monkeypatch.setenv("WORKBELL_TOKEN", token.text)
    both.ask("dispatch")
    both.read("dispatch")
    done = json.loads(both.remote.call("consume --json").out)
    assert [one["status"] for one in done["results"]] == ["succeeded"]
    assert [run.status for run in both.remote.bell.runs(job="send")] == ["succeeded"]


def test_the_doctor(both: Both) -> None:
    answer = both.remote.call("doctor --json")
    found = json.loads(answer.out)
    assert found["service"] == both.server.url
    assert answer.code == (0 if found["healthy"] else 1)
    assert {"level", "what", "text", "remedy"} == {*found["findings"][0]}
    assert {one["level"] for one in found["findings"]} <= {"ok", "note", "risk"}
    assert f"The service {both.server.url}" in both.remote.call("doctor").out


def test_the_service_notes_what_was_done(both: Both) -> None:
    """Once, with the token as actor; on a store, the command does it."""
    both.ask("queues pause slow")
    entries = both.ask("audit")
    assert [entry["action"] for entry in entries] == ["queues.pause"]
    assert [entry.actor for entry in both.remote.bell.audit.list()] == ["token:root"]
    assert both.local.bell.audit.list()[0].actor.startswith("cli:")


def test_a_tenant(both: Both) -> None:
    for side in both.sides:
        side.bell.for_tenant("acme").enqueue("send", {"to": "ada"})
    assert both.ask("runs list") == []
    assert [run["tenant"] for run in both.ask("runs list --tenant acme")] == ["acme"]
    both.monkeypatch.setenv("WORKBELL_TENANT", "acme")
    assert [run["tenant"] for run in both.ask("runs list")] == ["acme"]


def test_what_a_token_of_another_tenant_writes_says_whose_it_is(both: Both) -> None:
    tokens = both.remote.bell.tokens
    both.monkeypatch.setenv("WORKBELL_TOKEN", tokens.create("acme", scopes=["operate"], tenant="acme").text)
    ada = '{"to": "ada"}'
    for line, *more in (
        ("schedules add s1 --job send --every 60s --input", ada),
        ("jobs run send --input", ada),
        ("events emit orders.made", ada),
        ("queues pause slow",),
    ):
        said = both.remote.call(line, *more)
        assert (said.code, said.error.splitlines()) == (0, ["In tenant acme:"])
    assert both.remote.call("schedules list").error == ""
    assert [one.name for one in both.remote.bell.for_tenant("acme").schedules.list()] == ["s1"]
    both.monkeypatch.setenv("WORKBELL_TOKEN", tokens.create("own", scopes=["operate"]).text)
    assert both.remote.call("queues pause slow").error == ""


def test_nothing_there_names_the_service(both: Both) -> None:
    answer = both.remote.call("runs list")
    assert f"The service is {both.server.url}, which has none; --service names another." in answer.out


def test_the_environment_names_a_service_too(both: Both) -> None:
    both.remote.bell.enqueue("send", {"to": "ada"})
    both.monkeypatch.setenv("WORKBELL_SERVICE", both.server.url)
    assert len(both.remote.folder.ask("runs", "list")) == 1
    assert both.local.call("runs list --json").out == "[]\n"


def test_events_as_they_come(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Printed until Ctrl-C."""
    waits: list[float] = []

    def next_poll(pause: float) -> None:
        waits.append(pause)
        if len(waits) > 1:
            raise KeyboardInterrupt
        both.remote.bell.emit("posts.created", {"id": 7})

    monkeypatch.setattr("workbell.remote.following.time.sleep", next_poll)
    answer = both.remote.call("events tail --json")
    assert answer.code == 0
    assert json.loads(answer.out)["type"] == "posts.created"


def test_without_a_token(both: Both) -> None:
    both.monkeypatch.delenv("WORKBELL_TOKEN")
    assert_refused(both.remote.call("runs list"), 77, f"{both.server.url} wants a token; set WORKBELL_TOKEN")


def test_a_token_that_is_not_valid(both: Both) -> None:
    both.monkeypatch.setenv("WORKBELL_TOKEN", "wb_nonsense")
    answer = both.remote.call("runs list")
    assert_refused(answer, 77, f"{both.server.url} refuses the token in WORKBELL_TOKEN", "may have expired")
    assert "nonsense" not in answer.error


def test_a_token_that_may_not(both: Both) -> None:
    both.monkeypatch.setenv("WORKBELL_TOKEN", both.remote.bell.tokens.create("reader").text)
    assert both.remote.call("runs list").code == 0
    assert_refused(both.remote.call("queues pause slow"), 77, "operate")
    assert_refused(both.remote.call("doctor"), 77, "token of all tenants")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/\x1b[31m", "http://127.0.0.1:1/a b", "http://127.0.0.1:1/\udcff"])
def test_a_service_whose_url_cannot_be_used(folder: Folder, url: str) -> None:
    told = folder.call("--service", url, "runs", "list")
    assert_refused(told, 78, "URL", "cannot be printed")
    assert told.error.removesuffix("\n").isprintable()
