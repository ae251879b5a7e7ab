"""Request of a bulk action, validated: the input of its run."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from workbell.errors import InvalidOption
from workbell.model.filter_options import FilterOptions
from workbell.model.run import FINAL, LIVE, Status
from workbell.stores.port import Filter


class Action(StrEnum):
    """Action on each run."""

    CANCEL = "cancel"
    RETRY = "retry"


BULK_QUEUE = "bulk"  # of its own: a queue may be paused just to be cleared

# The statuses that an action can be done to, and those that are meant if none is named.
POSSIBLE = {Action.CANCEL: LIVE, Action.RETRY: FINAL}
MEANT = {Action.CANCEL: LIVE, Action.RETRY: (Status.FAILED,)}


LITERAL = ("job", "queue", "tag", "schedule", "user_id", "target", "event", "retry_of", "retried")


def read_action(word: str) -> Action:
    try:
        return Action(word)
    except ValueError:
        raise InvalidOption(f"action: {word!r:.60} is none of {', '.join(Action)}.") from None


def narrowed(action: Action, wanted: Filter) -> Filter:
    """The filter with the statuses that are meant; one to which the action cannot be done is refused."""
    impossible = [status for status in wanted.status if status not in POSSIBLE[action]]
    if impossible:
        why = "has ended already" if action is Action.CANCEL else "has not ended; cancel it, or wait"
        raise InvalidOption(f"{action}: a run that is {impossible[0]} {why}. Leave this status out.")
    if action is Action.RETRY:
        if wanted.retried:
            raise InvalidOption(
                "retry: a run that was retried is not retried again with others. Leave retried out: failed retries are "
                "runs of their own, and are meant; or retry one run by its id."
            )
        wanted = wanted._replace(retried=False)
    return wanted._replace(status=tuple(wanted.status) or MEANT[action])


def as_payload(action: Action, wanted: Filter, dry_run: bool) -> dict[str, Any]:
    """The arguments of the job."""
    words = {
        "status": [status.value for status in wanted.status],
        "since": None if wanted.since is None else wanted.since.isoformat(),
        "until": None if wanted.until is None else wanted.until.isoformat(),
        "input": dict(wanted.fields) or None,
    }
    words |= {name: getattr(wanted, name) for name in LITERAL}
    return {
        "action": action.value,
        "filter": {name: value for name, value in words.items() if value is not None},
        "dry_run": dry_run,
    }


def as_options(words: dict[str, Any]) -> FilterOptions:
    """The filter of a payload, in the words of `bell.runs`."""
    times = {name: datetime.fromisoformat(words[name]) for name in ("since", "until") if words.get(name) is not None}
    options: FilterOptions = {**words, **times}  # type: ignore[typeddict-item]
    return options
