"""Message bodies of alerts and pings about a run. Pure.

`text` is what Slack and Mattermost show of it. There is no `type` in it: Mattermost takes that for a kind of post, and
refuses one that it does not know.
"""

from __future__ import annotations

import re

import msgspec

from workbell.model.run import Run, Status
from workbell.model.schedule import Schedule
from workbell.model.system_events import JOB_FAILED

TEXT_LIMIT = 300  # characters of the error in the one line that people read
ERROR_LIMIT = 2000  # bytes
PING_LIMIT = 10_000

_EVERYBODY = re.compile(r"@(?=(all|channel|here)\b)")


def alert_body(run: Run, schedule: Schedule | None) -> bytes:
    error = run.error or run.reason or "no error was recorded"
    line = error.splitlines()[0] if error.strip() else "no error was recorded"
    name = None if schedule is None else schedule.name
    by = "" if name is None else f" by schedule {name}"
    return msgspec.json.encode(
        {
            "event": JOB_FAILED,
            "text": _harmless(f"Job {run.job} failed: {line[:TEXT_LIMIT]} (run {run.id}{by})"),
            "job": run.job,
            "run_id": run.id,
            "schedule": name,
            "queue": run.queue,
            "tenant": run.tenant,
            "attempt": run.attempt,
            "error": beginning(error, ERROR_LIMIT),
            "failed_at": run.finished_at,
        }
    )


def ping_body(run: Run) -> bytes:
    """Nothing, of a run that succeeded."""
    return beginning(run.error or run.reason or "", PING_LIMIT).encode() if run.status is Status.FAILED else b""


def beginning(text: str, limit: int) -> str:
    """As many of the first lines as fit into so many bytes; of a single line that is too long, its beginning."""
    data = text.encode()
    if len(data) <= limit:
        return text
    start = data[:limit]
    end = start.rfind(b"\n")
    return start[: end if end > limit // 2 else limit].decode("utf-8", "ignore")


def _harmless(text: str) -> str:
    """Escape links and mentions, so that an error text stays plain text in a chat."""
    for letter, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(letter, written)
    return _EVERYBODY.sub("@\N{ZERO WIDTH SPACE}", text)
