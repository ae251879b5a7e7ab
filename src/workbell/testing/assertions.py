"""Assertions about enqueued runs, with messages that explain a failure."""

from __future__ import annotations

from typing import Any

from workbell.client.local import LocalClient
from workbell.handlers.job_function import JobFunction
from workbell.model.json_text import decode, encode
from workbell.model.run import Run
from workbell.runs.filters import PAGE

SHOWN = 20


def assert_enqueued(bell: LocalClient, job: str | JobFunction[Any, Any], **arguments: Any) -> Run:
    """Fail unless a run of this job was enqueued with at least these arguments; the newest such run.

    Runs count in every status: waiting, running or ended.
    """
    name = _name(job)
    every = _runs(bell)
    matching = [run for run in every if run.job == name and _has(run, arguments)]
    if not matching:
        raise AssertionError(f"No run of {_words(name, arguments)} was enqueued. {_listed(every, name)}")
    return matching[0]


def refute_enqueued(bell: LocalClient, job: str | JobFunction[Any, Any], **arguments: Any) -> None:
    """Fail if a run of this job was enqueued with these arguments."""
    name = _name(job)
    every = _runs(bell)
    matching = [run for run in every if run.job == name and _has(run, arguments)]
    if matching:
        raise AssertionError(
            f"{len(matching)} run(s) of {_words(name, arguments)} were enqueued. {_listed(every, name)}"
        )


def _name(job: str | JobFunction[Any, Any]) -> str:
    return job if isinstance(job, str) else job.name


def _runs(bell: LocalClient) -> list[Run]:
    every: list[Run] = []
    before: str | None = None
    while page := bell.runs(before=before, limit=PAGE):
        every += page
        before = page[-1].id
    return every


def _has(run: Run, arguments: dict[str, Any]) -> bool:
    """Compared as JSON: that is what was stored of them."""
    wanted = decode(encode("the expected arguments", arguments))
    given = run.input
    return all(name in given and given[name] == value for name, value in wanted.items())


def _words(name: str, arguments: dict[str, Any]) -> str:
    listed = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"{name}({listed})" if arguments else name


def _listed(every: list[Run], name: str) -> str:
    """The runs that there are: those of the job asked for first."""
    if not every:
        return "Nothing was enqueued at all."
    ordered = sorted(every, key=lambda run: run.job != name)
    lines = [f"  {_words(run.job, run.input)}: {run.status}, queue {run.queue}" for run in ordered[:SHOWN]]
    if len(ordered) > SHOWN:
        lines.append(f"  … and {len(ordered) - SHOWN:,} more")
    return "Enqueued were:\n" + "\n".join(lines)
