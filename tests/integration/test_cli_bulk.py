"""`workbell runs list` by time and input, and `cancel --all` and `retry --all` (F6)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from workbell import Retry, Status, Workbell
from workbell.testing import drain


@pytest.fixture
def bell(folder: Folder) -> Iterator[Workbell]:
    folder.write("workbell.toml", 'url = "sqlite:///own.db"\n')
    with Workbell(f"sqlite:///{folder.path}/own.db") as bell:

        @bell.job(retry=Retry(attempts=1))
        def send(to: str, copies: int = 1) -> None:
            raise ValueError("no")

        yield bell


def test_listing_by_input_and_time(folder: Folder, bell: Workbell) -> None:
    runs = [bell.enqueue("send", {"to": f"a{number}", "copies": number % 2}).id for number in range(4)]

    def ids(*options: str) -> list[str]:
        return [run["id"] for run in folder.ask("runs", "list", *options)]

    assert ids("--input", "to=a1") == [runs[1]]
    assert ids("--input", "copies=1", "--input", 'to="a3"') == [runs[3]]
    assert ids("--since", "2020-01-01T00:00:00Z", "--input", "copies=0") == [runs[2], runs[0]]
    assert ids("--until", "2020-01-01T00:00:00Z") == []
    assert "No run matches the filter" in folder.call("runs", "list", "--target", "press").out
    assert "write one such as customer.id=42" in folder.call("runs", "list", "--input", "to").error
    assert_refused(folder.call("runs", "list", "--input", "a..b=1"), 1, "input: 'a..b' is no path")


def test_cancelling_all_of_a_filter(folder: Folder, bell: Workbell) -> None:
    runs = [bell.enqueue("send", {"to": "a"}, delay=60, tag="t" if number else None) for number in range(3)]
    assert (
        "2 runs of tenant default would be meant"
        in folder.call("runs", "cancel", "--all", "--tag", "t", "--dry-run").out
    )
    refused = folder.call("runs", "cancel", "--all", "--tag", "t", typed="n\n")
    assert "Cancel 2 runs of tenant default?" in refused.error
    assert bell.runs(job="bulk-action") == []
    told = folder.call("runs", "cancel", "--all", "--tag", "t", "--yes").out
    (bulk,) = bell.runs(job="bulk-action")
    assert told == f"Run {bulk.id} does it as soon as a worker is free; `workbell runs watch {bulk.id[-8:]}`.\n"
    drain(bell)
    assert [bell.get(run.id).status for run in runs] == [Status.SCHEDULED, Status.CANCELED, Status.CANCELED]
    assert "there is nothing to cancel" in folder.call("runs", "cancel", "--all", "--tag", "t").out


def test_repeating_all_of_a_filter(folder: Folder, bell: Workbell) -> None:
    failed = [bell.enqueue("send", {"to": f"a{number}"}).id for number in range(3)]
    drain(bell)
    assert folder.call("runs", "retry", "--all", "--input", "to=a1", typed="y\n").code == 0
    assert [run.job for run in bell.runs(limit=1)] == ["bulk-action"]
    bell.pause(queue="default")
    drain(bell)
    assert [run.retry_of for run in bell.runs(status="queued")] == [failed[1]]
    again = folder.call("runs", "retry", "--all", "--input", "to=a1")
    assert again.out == "No run that was not retried before matches the filter: there is nothing to retry.\n"
    assert [run["id"] for run in folder.ask("runs", "list", "--not-retried", "--status", "failed")] == [
        failed[2],
        failed[0],
    ]
    (new,) = folder.ask("runs", "list", "--retry-of", failed[1])
    assert folder.ask("runs", "show", failed[1])["retried_by"] == {"id": new["id"], "status": "queued"}
    shown = folder.call("runs", "show", failed[1]).out
    assert f"{new['id']} (queued)" in next(line for line in shown.splitlines() if line.strip().startswith("retried by"))
    assert_refused(folder.call("runs", "retry", "--all", "--status", "queued"), 1, "a run that is queued has not ended")


@pytest.mark.parametrize("action", ["cancel", "retry"])
def test_programs_get_one_object_whatever_there_is_to_do(folder: Folder, bell: Workbell, action: str) -> None:
    nothing = {"count": 0, "capped": False, "run": None}
    assert folder.ask("runs", action, "--all") == folder.ask("runs", action, "--all", "--dry-run") == nothing
    bell.enqueue("send", {"to": "a"}, delay=60 if action == "cancel" else 0)
    drain(bell)
    assert folder.ask("runs", action, "--all", "--dry-run") == nothing | {"count": 1}
    answer = folder.call("runs", action, "--all", "--json", typed="y\n")
    assert (answer.code, answer.out) == (2, "")
    assert "With --json nobody is asked: give --yes." in answer.error
    told = folder.ask("runs", action, "--all", "--yes")
    assert (told["count"], told["run"]["id"]) == (1, bell.runs(job="bulk-action")[0].id)


def test_without_an_answer_it_is_said_how_to_go_on(folder: Folder, bell: Workbell) -> None:
    """In a script there is nobody to ask."""
    bell.enqueue("send", {"to": "a"}, delay=60)
    answer = folder.call("runs", "cancel", "--all", typed="")
    assert answer.code == 2
    assert "Cancel 1 run of tenant default?" in answer.error
    assert "Nobody has answered: give --yes." in answer.error
    assert bell.runs(job="bulk-action") == []


@pytest.mark.parametrize("words", [[], ["abcdef", "--all"], ["abcdef", "--tag", "t"], ["abcdef", "--yes"]])
def test_one_or_all(folder: Folder, bell: Workbell, words: list[str]) -> None:
    answer = folder.call("runs", "cancel", *words)
    assert answer.code != 0
    assert "--all" in answer.error
