"""Request of a bulk action, validated: the input of its run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from workbell.errors import InvalidOption
from workbell.model.bulk_action import Action
from workbell.model.run import FINAL, LIVE, Status
from workbell.model.run_filter import WORDS, Filter, FilterOptions, WordKind, names_of

BULK_QUEUE = "bulk"  # of its own: a queue may be paused just to be cleared

# The statuses that an action can be done to, and those that are meant if none is named.
POSSIBLE = {Action.CANCEL: LIVE, Action.RETRY: FINAL}
MEANT = {Action.CANCEL: LIVE, Action.RETRY: (Status.FAILED,)}


def read_action(word: str) -> Action:
    try:
        return Action(word)
    except ValueError:
        raise InvalidOption(f"action: {word!r:.60} is none of {', '.join(Action)}.") from None


def meant(action: Action, wanted: FilterOptions) -> FilterOptions:
    """The filter with the statuses that are meant; one to which the action cannot be done is refused."""
    status = wanted.get("status") or ()
    named = [status] if isinstance(status, str) else [*status]
    impossible = [word for word in Status if word in named and word not in POSSIBLE[action]]
    if impossible:
        why = "has ended already" if action is Action.CANCEL else "has not ended; cancel it, or wait"
        raise InvalidOption(f"{action}: a run that is {impossible[0]} {why}. Leave this status out.")
    if action is Action.RETRY:
        if wanted.get("retried"):
            raise InvalidOption(
                "retry: a run that was retried is not retried again with others. Leave retried out: failed retries are "
                "runs of their own, and are meant; or retry one run by its id."
            )
        wanted = {**wanted, "retried": False}
    return {**wanted, "status": named or MEANT[action]}


def as_input(action: Action, wanted: Filter, dry_run: bool) -> dict[str, Any]:
    """The arguments of the job."""
    given = {name: value for name in WORDS if (value := getattr(wanted, name)) not in (None, ())}
    return {
        "action": action.value,
        "filter": {name: _as_json(name, value) for name, value in given.items()},
        "dry_run": dry_run,
    }


def _as_json(word: str, value: Any) -> Any:
    match WORDS[word].kind:
        case WordKind.STATUSES:
            return [status.value for status in value]
        case WordKind.TIME:
            return value.isoformat()
        case WordKind.INPUT:
            return dict(value)
        case _:
            return value


def as_options(words: dict[str, Any]) -> FilterOptions:
    """The filter in an input, in the words of `bell.runs`."""
    given = (name for name in names_of(WordKind.TIME) if words.get(name) is not None)
    times = {name: datetime.fromisoformat(words[name]) for name in given}
    options: FilterOptions = {**words, **times}  # type: ignore[typeddict-item]
    return options
