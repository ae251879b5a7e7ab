"""Every option of every command is given at least once: it is taken, and what it says is found in the answer."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click
import msgspec
import pytest

from tests.integration.conftest import Folder
from tests.support import kumofire
from tests.support.command_line import every_command
from tests.support.command_scene import Scene
from tests.support.inside.values import FILTER_WORDS as WORDS
from tests.support.inside.values import ONCE
from tests.support.waiting import until
from workbell import Event, Status, Workbell
from workbell.testing import drain

FAR = "2100-01-01T00:00:00Z"
OF_RUNS = (
    "--queue slow --priority 7 --timeout 90s --target label:gpu --tag t --replace-tag --user-id 7 --persistent "
    "--auto-reschedule 5m --remove-delay 1h --expires 2h"
)
NOT_OF_RUNS = "--no-replace-tag --no-persistent"
RUNS = {
    "queue": "slow",
    "priority": 7,
    "timeout": 90,
    "target": "label:gpu",
    "tag": "t",
    "replace_tag": True,
    "user_id": 7,
    "persistent": True,
    "auto_reschedule": 300,
    "remove_delay": 3600,
    "expires": 7200,
}
NEITHER = {"replace_tag": False, "persistent": False}
OF_RETRY = "--attempts 4 --retry-delay 2s --retry-factor 3 --retry-cap 30s"
RETRY = {"attempts": 4, "delay": 2, "factor": 3, "cap": 30}
RETRY_CONFIG = {"max_attempts": 4, "initial_delay_ms": 2000, "backoff_multiplier": 3, "max_delay_ms": 30_000}
HOOKS = "--alert-url https://hooks.example.com/a --ping-url https://hooks.example.com/p"
HOOKED = {"alert_url": "https://hooks.example.com/…", "ping_url": "https://hooks.example.com/…"}
OF_SCHEDULE = (
    "--timezone Europe/Paris --input {monday} --window 23:00-06:00 --outside skip --overlap allow "
    "--catch-up all --catch-up-cap 3 --jitter 10s --description D --created-by ada"
)
SCHEDULE = {
    "timezone": "Europe/Paris",
    "input": {"day": "monday"},
    "outside": "skip",
    "overlap": "allow",
    "catch_up": "all",
    "catch_up_cap": 3,
    "jitter": 10,
    "description": "D",
    "created_by": "ada",
}
FILTER = (
    "--status queued --job report --queue slow --tag t --schedule nightly --user-id 7 --target box --event {event} "
    "--retry-of {failed} --retried --since 1h --until 1m --input day=monday"
)

FILTER_OF_FAILED = FILTER.replace("queued", "failed").replace(" --retried", "")


class Call(NamedTuple):
    """Arguments of a command, a part of its answer with --json, and its exit code."""

    arguments: str
    answer: Mapping[str, Any] = {}
    code: int = 0


CALLS: dict[str, list[Call]] = {
    "agent pair": [
        Call("--config a.toml --url http://127.0.0.1:1 --token wb_x --name n --label gpu --insecure", code=69)
    ],
    "agents disable": [Call("box", {"enabled": False})],
    "agents enable": [Call("box", {"enabled": True})],
    "agents label": [Call("box gpu big", {"labels": ["big", "gpu"]}), Call("box --none", {"labels": []})],
    "agents list": [Call("")],
    "agents pair": [
        Call("--name n --label gpu --expires 5m --at https://bell.example.com -q", {"name": "n", "labels": ["gpu"]})
    ],
    "agents remove": [Call("box --yes", {"removed": True})],
    "agents show": [Call("box", {"name": "box"})],
    "audit": [Call("-n 1 --before {token} --every-tenant")],
    "bridge write": [Call("worker")],
    "check": [Call("")],
    "consume": [Call("{waiting} --for 1s"), Call("--limit 1 --for 1s")],
    "copy": [Call("--to sqlite:///copy.db --force", {"complete": True})],
    "dispatch": [Call("--limit 5")],
    "doctor": [Call("", {"healthy": True})],
    "events emit": [Call("a.b '{{\"n\": 1}}' --subject s --source /here --key k", {"subject": "s", "source": "/here"})],
    "events list": [Call("--type posts.* -n 1 --before {token}")],
    "events match": [Call("posts.created")],
    "events show": [Call("{event}", {"type": "posts.created"})],
    "import kumofire": [
        Call("--from kumofire.db --to sqlite:///new.db --target box --tenant acme --dry-run", {"dry_run": True})
    ],
    "init": [Call("new")],
    "jobs disable": [Call("hello", {"enabled": False})],
    "jobs enable": [Call("hello", {"enabled": True})],
    "jobs list": [Call("--wide")],
    "jobs pause": [Call("report", {"job": "report"})],
    "jobs put": [
        Call(
            "bye --handler report --input {monday} --description D --enabled --concurrency 2 "
            f"--concurrency-key day --rate 5/m --rate-key day {HOOKS} {OF_RETRY} {OF_RUNS}",
            RUNS
            | {"handler": "report", "input": {"day": "monday"}, "description": "D", "enabled": True}
            | {"concurrency": 2, "concurrency_key": "day", "rate": "5/m", "rate_key": "day", "retry": RETRY},
        ),
        Call(f"bye --handler report --disabled {NOT_OF_RUNS}", {"enabled": False} | NEITHER),
    ],
    "jobs update": [
        Call(
            "hello --handler report --input {monday} --description D --disabled --concurrency 2 "
            f"--concurrency-key day --rate 5/m --rate-key day {HOOKS} {OF_RETRY} {OF_RUNS}",
            RUNS
            | {"handler": "report", "input": {"day": "monday"}, "description": "D", "enabled": False}
            | {"concurrency": 2, "concurrency_key": "day", "rate": "5/m", "rate_key": "day", "retry": RETRY},
        ),
        Call(
            f"hello --enabled {NOT_OF_RUNS} --default rate --default rate_key",
            {"enabled": True, "rate": None} | NEITHER,
        ),
    ],
    "jobs remove": [Call("hello --yes", {"removed": True})],
    "jobs resume": [Call("report", {"job": "report"})],
    "jobs run": [
        Call(
            "report --input {monday} --delay 1h --queue slow --priority 7 --key k --tag t --target label:gpu",
            {"input": {"day": "monday"}, "queue": "slow", "priority": 7, "key": "k", "tag": "t", "target": "label:gpu"},
        ),
        Call("report --wait --timeout 0.1s", code=3),
    ],
    "jobs runs": [Call("crash -n 1")],
    "jobs show": [Call("hello", {"name": "hello"})],
    "backup": [Call("kept.db --overwrite")],
    "restore": [Call("--check"), Call("none.db --other-store", code=1)],
    "migrate": [Call("", {"applied": []}), Call("--dump-sql --engine postgres")],
    "probe": [Call("--address 127.0.0.1:1 --live", code=1)],
    "queues list": [Call("")],
    "queues pause": [Call("slow --job report", {"queue": "slow", "job": "report"})],
    "queues resume": [Call("slow --job report", {"queue": "slow", "job": "report"})],
    "runs cancel": [
        Call(f"--all --yes --dry-run {FILTER}", {"count": 0}),
        Call("--all --not-retried --dry-run --tag t", {"count": 0}),
        Call("{waiting} --reason enough", {"status": "canceled", "reason": "enough"}),
    ],
    "runs list": [Call(f"{FILTER} -n 1 --before {{token}}"), Call("--not-retried --wide")],
    "runs logs": [Call("{failed} -f")],
    "runs retry": [
        Call(
            f"--all --yes --dry-run {FILTER.replace('queued --', 'failed --').replace(' --retried', '')}", {"count": 0}
        ),
        Call("--all --not-retried --dry-run --tag t", {"count": 0}),
        Call("--all --retried --dry-run", code=1),
        Call("{failed}", {"retry_of": "{failed}"}),
    ],
    "runs show": [Call("{failed}", {"status": "failed"})],
    "runs watch": [Call("{failed}", code=1)],
    "runs why": [Call("{failed}", {"status": "failed"})],
    "schedules add": [
        Call(
            f"weekly --job report --cron @weekly {OF_SCHEDULE} {OF_RETRY} {OF_RUNS} {HOOKS}",
            SCHEDULE | RUNS | {"expression": "@weekly", "retry": RETRY},
        ),
        Call(f"nightly --job report --every 1h --anchor {FAR} --replace {NOT_OF_RUNS}", {"kind": "interval"} | NEITHER),
        Call(f"once --job report --at {FAR}", {"kind": "once"}),
    ],
    "schedules list": [Call("--wide")],
    "schedules pause": [Call("nightly", {"paused": True})],
    "schedules preview": [
        Call(f"nightly --after {FAR} -n 1"),
        Call("--cron @daily --timezone Europe/Paris", {"timezone": "Europe/Paris"}),
    ],
    "schedules remove": [Call("nightly --yes", {"removed": True})],
    "schedules resume": [Call("nightly", {"paused": False})],
    "schedules run": [Call("nightly --wait --timeout 0.1s", code=3)],
    "schedules show": [Call("nightly", {"name": "nightly"})],
    "schedules ticks": [Call(f"nightly -n 1 --before {FAR}")],
    "schedules update": [
        Call(
            f"nightly --job report --cron @weekly {OF_SCHEDULE} {OF_RETRY} {OF_RUNS} {HOOKS} --disable",
            SCHEDULE | RUNS | {"job": "report", "expression": "@weekly", "retry": RETRY, "enabled": False},
        ),
        Call(
            f"nightly --every 1h --anchor {FAR} --enable {NOT_OF_RUNS}", {"kind": "interval", "enabled": True} | NEITHER
        ),
        Call(f"nightly --at {FAR} --default tag", {"kind": "once", "tag": None}),
    ],
    "tenants list": [Call("-n 5 --after a")],
    "tenants remove": [Call("acme --yes", code=4)],
    "tenants set": [
        Call(
            "acme --weight 3 --concurrency 2 --rate 5/m --description D", {"weight": 3, "concurrency": 2, "rate": "5/m"}
        ),
        Call("acme --no-concurrency --no-rate", {"concurrency": None, "rate": None}),
    ],
    "tenants show": [Call("acme", {"name": "acme"})],
    "tokens create": [
        Call("ci --scope operate --expires 1d --user-id 7 --every-tenant -q", {"scopes": ["operate"], "tenant": "*"})
    ],
    "tokens list": [Call("--all -n 5 --after 0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f")],
    "tokens revoke": [Call("{token}", {"id": "{token}"})],
    "tokens url": [Call("--scope read --at https://bell.example.com")],
    "triggers add": [
        Call(
            f"others --pattern a.* --job listen --description D --disabled {OF_RETRY} {OF_RUNS}",
            RUNS | {"event_pattern": "a.*", "description": "D", "enabled": False, "retry_config": RETRY_CONFIG},
        ),
        Call(f"third --pattern a.* --job listen {NOT_OF_RUNS}", NEITHER),
    ],
    "triggers disable": [Call("mails", {"enabled": False})],
    "triggers enable": [Call("mails", {"enabled": True})],
    "triggers list": [Call("")],
    "triggers remove": [Call("mails --yes", {"removed": True})],
    "triggers show": [Call("mails", {"name": "mails"})],
    "triggers update": [
        Call(
            f"mails --name letters --pattern a.* --job listen --description D {OF_RETRY} {OF_RUNS}",
            RUNS | {"name": "letters", "event_pattern": "a.*", "description": "D", "retry_config": RETRY_CONFIG},
        ),
        Call(f"mails {NOT_OF_RUNS} --default-retry --job-default tag", NEITHER | {"retry_config": None, "tag": None}),
    ],
    "webhooks add": [
        Call(
            "https://shop.example.com/x --pattern a.* --header 'X-A: b' --description D --rate 5/m --concurrency 2 "
            f"--timeout 3s --secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw {OF_RETRY}",
            {"patterns": ["a.*"], "header_names": ["x-a"], "description": "D", "rate": "5/m", "concurrency": 2}
            | {"timeout": 3, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "retry_config": RETRY_CONFIG},
        )
    ],
    "webhooks deliveries": [Call("{endpoint} --status failed -n 1 --before {token}")],
    "webhooks disable": [Call("{endpoint} --reason noisy", {"disabled_reason": "noisy"})],
    "webhooks enable": [Call("{endpoint}", {"enabled": True})],
    "webhooks list": [Call("")],
    "webhooks new-key": [Call("")],
    "webhooks remove": [Call("{endpoint} --yes", {"removed": True})],
    "webhooks replay": [Call("{endpoint} --since 1h"), Call("{endpoint} --event {event}", code=1)],
    "webhooks rotate": [
        Call(
            "{endpoint} --overlap 1h --secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
        )
    ],
    "webhooks seal": [Call("", {"sealed": 1})],
    "webhooks show": [Call("{endpoint}", {"id": "{endpoint}"})],
    "webhooks test": [Call("{endpoint} --timeout 0s", code=3)],
    "webhooks update": [
        Call(
            "{endpoint} --to https://shop.example.com/y --pattern a.* --header 'X-A: b' --description D --rate 5/m "
            f"--concurrency 2 --timeout 3s {OF_RETRY}",
            {"url": "https://shop.example.com/y", "patterns": ["a.*"], "header_names": ["x-a"], "rate": "5/m"}
            | {"description": "D", "concurrency": 2, "timeout": 3, "retry_config": RETRY_CONFIG},
        ),
        Call("{endpoint} --no-headers", {"header_names": []}),
    ],
    "workers drain": [Call("box/1/first", {"id": "box/1/first"})],
    "workers list": [Call("")],
    "workers rewinds": [Call("-n 1 --before 01a1ef3d-9d75-70a5-acf4-e12e0deaf9b9")],
    "workers resume": [Call("box/1/first", {"id": "box/1/first"})],
}
# They go on: their options are read, and then the app is not there.
GO_ON = {
    "dev": "--concurrency 2 --host 127.0.0.1 --port 0 --http --no-http --start shop:bell",
    "server": "--watch --probe 127.0.0.1:0 --host 127.0.0.1 --port 0 --http --no-http",
    "start": "--processes 1 --concurrency 2 --queues a,b --grace 1s --max-runs 5 --max-memory 1GB --probe 127.0.0.1:0 "
    "--watch --host 127.0.0.1 --port 0 --http --no-http",
    "worker": "--processes 1 --concurrency 2 --queues a,b --grace 1s --max-runs 5 --max-memory 1GB --probe 127.0.0.1:0 "
    "--watch",
}
ELSEWHERE = {"events tail"}  # `test_cli_events.py`
COMMON = {"--app": "shop:bell", "--url": "sqlite:///workbell.db", "--tenant": "acme", "--json": None}
COMMANDS = dict(every_command())
WITHOUT_COMMON = {"agent pair", "import kumofire"}  # their --url is a service's; their --tenant is above


def options_of(command: click.Command) -> set[str]:
    """The words of its options, the longest of each; of a switch, both."""
    found: set[str] = set()
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            found |= {max(words, key=len) for words in (option.opts, option.secondary_opts) if words}
    return found


def given_in(command: click.Command, arguments: list[str]) -> set[str]:
    longest = {word: max(option.opts, key=len) for option in command.params for word in option.opts}
    longest |= {word: word for option in command.params for word in option.secondary_opts}
    return {longest[word] for word in arguments if word in longest and word.startswith("-")}


def common_of(path: str) -> list[str]:
    """Options that most commands share, as this one has them."""
    known = set() if path in WITHOUT_COMMON else options_of(COMMANDS[path]) & set(COMMON)
    return [word for name in sorted(known) for word in (name, COMMON[name]) if word is not None]


def test_every_option_of_every_command_is_given_here() -> None:
    """A new option is added to a call, and so tried."""
    assert set(COMMANDS) == {*CALLS, *GO_ON, *ELSEWHERE}
    missing = {}
    for path, command in COMMANDS.items():
        if path not in ELSEWHERE:
            calls = [GO_ON[path]] if path in GO_ON else [call.arguments for call in CALLS[path]]
            given = given_in(command, [word for text in calls for word in shlex.split(text)]) | set(COMMON)
            missing[path] = options_of(command) - given - {"--service"}  # `test_cli_service_commands.py`
    assert {path: sorted(options) for path, options in missing.items() if options} == {}


@pytest.fixture
def ids(folder: Folder, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("WORKBELL_SECRET_KEY", "k" * 43 + "=")
    kumofire.write(folder.path / "kumofire.db", [*kumofire.schema(), *kumofire.content(datetime.now(UTC))])
    return scene["acme"] | {"monday": shlex.quote('{"day": "monday"}')}


def values(text: str) -> Iterator[Any]:
    """A JSON value, or one on each line."""
    try:
        yield msgspec.json.decode(text)
    except msgspec.DecodeError:
        for line in text.splitlines():
            yield msgspec.json.decode(line)


def part_of(told: Any, expected: Any) -> Any:
    """Of an answer, the fields that were expected."""
    if not isinstance(expected, Mapping):
        return told
    return {word: part_of(told[word], value) for word, value in expected.items()}


@pytest.mark.parametrize(
    ("path", "number"), [(path, number) for path, calls in CALLS.items() for number in range(len(calls))]
)
def test_options_are_taken_and_answered(path: str, number: int, folder: Folder, ids: dict[str, str]) -> None:
    call = CALLS[path][number]
    arguments = shlex.split(call.arguments.format(**ids))
    common = [word for word in common_of(path) if word != "--json" or "--dump-sql" not in arguments]
    answer = folder.call(*path.split(), *arguments, *common)
    assert answer.code == call.code, answer
    assert "This should not happen" not in answer.error
    if "--json" in common:
        told = [*values(answer.out)]
        expected = {
            word: value.format(**ids) if isinstance(value, str) else value for word, value in call.answer.items()
        }
        assert not expected or part_of(told[0], expected) == expected


@pytest.mark.parametrize("path", GO_ON)
def test_options_of_services_are_taken(path: str, folder: Folder) -> None:
    answer = folder.call(path, *shlex.split(GO_ON[path]), "--app", "nowhere:bell", "--url", "sqlite:///workbell.db")
    assert answer.code == 78, answer
    assert "there is no module 'nowhere'" in answer.error


# The words of the filter, each with the runs of `some_runs` that it finds.
FOUND: dict[str, list[tuple[str, str]]] = {
    "status": [("--status {status}", "only")],
    "job": [("--job hear", "heard")],
    "queue": [("--queue q", "queue")],
    "tag": [("--tag t", "tag")],
    "schedule": [("--schedule nightly", "ticked")],
    "user_id": [("--user-id 7", "user")],
    "target": [("--target label:gpu --status {status}", "only")],
    "event": [("--event {event}", "heard")],
    "retry_of": [("--retry-of {first}", "again")],
    "retried": [("--not-retried --tag t", "tag")],
    "since": [("--since 1h --tag t", "tag"), (f"--since {FAR}", "")],
    "until": [(f"--until {FAR} --tag t", "tag"), ("--until 1h", "")],
    "input": [("--input day=monday", "monday")],
}


def some_runs(bell: Workbell, action: str, *, ticked: bool) -> dict[str, str]:
    """Runs that can be canceled, or retried, each of them found by one word; their ids, and what the words need."""

    @bell.job(retry=1)
    def work(day: str = "today") -> None:
        raise ValueError("no")

    @bell.processor("hear", retry=ONCE)
    def hear(event: Event) -> None:
        raise ValueError("no")

    bell.schedules.put("nightly", job="work", every=1)
    bell.triggers.add("hear", pattern="a.*", processor="hear")
    event = bell.emit("a.b").id
    if ticked:  # a second passes
        until(lambda: bell.dispatch() and bell.runs(schedule="nightly"), "the tick")
    bell.schedules.pause("nightly")
    bell.dispatch()
    first = bell.cancel(work.enqueue().id)
    aimed = work.options(target="label:gpu", delay=0 if action == "retry" else 3600).enqueue()
    found = {
        "plain": work.enqueue().id,
        "queue": work.options(queue="q").enqueue().id,
        "tag": work.options(tag="t").enqueue().id,
        "ticked": bell.runs(schedule="nightly")[0].id if ticked else "",
        "user": work.options(user_id=7).enqueue().id,
        "heard": bell.runs(job="hear")[0].id,
        "again": bell.retry(first.id).id,
        "monday": work.enqueue(day="monday").id,
        "only": aimed.id,
    }
    if action == "retry":
        drain(bell)
        bell.cancel(aimed.id)  # no agent has run it
    return found | {"event": event, "first": first.id, "status": "scheduled" if action == "cancel" else "canceled"}


def test_every_word_of_the_filter_is_here() -> None:
    assert set(FOUND) == set(WORDS)


@pytest.mark.parametrize("action", ["cancel", "retry"])
@pytest.mark.parametrize(("options", "found"), [pair for pairs in FOUND.values() for pair in pairs])
def test_an_action_on_all_runs_of_a_filter_leaves_the_others_alone(
    action: str, options: str, found: str, folder: Folder
) -> None:
    folder.write("workbell.toml", 'url = "sqlite:///workbell.db"\n')
    with Workbell() as bell:
        ids = some_runs(bell, action, ticked=found == "ticked")
        told = folder.ask("runs", action, "--all", "--yes", *shlex.split(options.format(**ids)))
        wanted = [ids[found]] if found else []
        assert told["count"] == len(wanted)
        if told["run"] is not None:
            bell.consume(runs=[told["run"]["id"]])
        assert bell.runs(job="bulk-action", status="failed") == []
        runs = bell.runs(job="work") + bell.runs(job="hear")
        if action == "cancel":
            done = [run.id for run in runs if run.status is Status.CANCELED and run.id != ids["first"]]
        else:
            done = [run.retry_of for run in runs if run.retry_of not in (None, ids["first"])]
        assert done == wanted
