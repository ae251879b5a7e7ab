"""Batches within the limits of D1: checked, and cut where they may be, before anything is sent.

A batch is one transaction. What is more than D1 takes at once is divided only where each part is whole by itself; what
must be written together and is too much is refused, and nothing of it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from workbell.errors import StoreError
from workbell.stores.d1.answers import Answering, answering
from workbell.stores.d1.query_set import answerings, parameters
from workbell.stores.database import Batch, Rows, Statement, conflict
from workbell.stores.sqlite.dialect import SQLITE, bind_values

# Limits of D1 as documented in 2026; statements: a Worker of the free plan may make 50 queries a call, guards included.
MOST_STATEMENTS = 40
MOST_PARAMETERS = 100
MOST_TEXT = 100_000  # bytes of a statement
MOST_VALUE = 1_000_000  # bytes of a parameter; D1 takes 2 MB a row, which has an input and a result
MOST_BODY = 4 * 1024 * 1024  # bytes of a call: what the bridge reads

# Every row stands for itself, so that rows can be divided among several statements of the same batch.
BY_ROWS = frozenset(
    "add_runs add_logs add_events add_attempts add_ticks add_audit add_notifications add_matches add_lanes load_lanes "
    "load_tallies".split()
)
# Every statement stands for itself, so that a batch of such statements can be divided into several.
APART = frozenset(
    "claim put_job raise_definitions forget_service add_lanes add_event settle_event unload_run "
    "add_trigger add_endpoint raise_subscriptions add_audit".split()
)
# Stay in the batch of the statement before them: a run that has ended elsewhere must not be gone between two batches,
# nor an event that was fanned out elsewhere wait here.
TOGETHER = frozenset(["load_finished", "settle_event"])


class Sent(NamedTuple):
    """A statement as it is sent to the bridge."""

    position: int  # in the batch that was asked for
    query: str
    values: dict[str, Any]
    exactly: int | None
    text: str | None
    columns: tuple[str, ...]

    @property
    def number(self) -> int:
        """As how many statements it counts: a guard is one of its own."""
        return 1 if self.exactly is None else 2

    @property
    def size(self) -> int:
        """In bytes of JSON, about."""
        values = sum(2 * len(name) + _size(value) for name, value in self.values.items())
        return 40 + len(self.query) + len(self.text or "") + values

    @property
    def wire(self) -> list[Any]:
        plain = [self.query, self.values]
        if self.text is not None:
            return [*plain, self.exactly, self.text]
        return plain if self.exactly is None else [*plain, self.exactly]


def reading(batch: Batch) -> list[list[Sent]]:
    """Reads in calls: each statement is answered by itself."""
    return list(_chunks(bound(batch)))


def writing(batch: Batch) -> list[list[Sent]]:
    """A write in calls, mostly one. Raises StoreError if it must be one and cannot be."""
    sent = bound(batch)
    if _fits(sent):
        return [sent]
    if all(_stands_alone(each) for each in sent):
        return list(_chunks(sent))
    # Lanes may be there without runs, so that those of a large call are made before it.
    lanes = [each for each in sent if each.query == "add_lanes"]
    rest = [each for each in sent if each.query != "add_lanes"]
    if not _fits(rest):
        raise _too_much(rest)
    return [*_chunks(lanes), rest]


def bound(batch: Batch) -> list[Sent]:
    return [each for index, statement in enumerate(batch) for each in _bind(index, statement)]


def _bind(index: int, statement: Statement) -> Iterator[Sent]:
    for part in _within(statement):
        query, values, exactly, text = part
        found = answerings()[query] if text is None else _composed(text)
        if exactly and not found.columns:  # it answers nothing, so this cannot be
            raise conflict(query, 0, exactly)
        wanted = parameters(found.sql)
        plain = bind_values({name: values[name] for name in wanted})
        yield _checked(
            Sent(
                index,
                query,
                {name: _wire(value) for name, value in plain.items()},
                exactly if found.columns else None,
                None if text is None else found.sql,
                found.columns,
            )
        )


def _composed(text: str) -> Answering:
    """Composed SQL, beginning with SELECT: the bridge takes no other, as nothing that begins like this can write."""
    found = answering(SQLITE.in_lanes(text))
    return found if found.sql.startswith("SELECT") else found._replace(sql=f"SELECT * FROM ({found.sql})")  # noqa: S608


def _wire(value: Any) -> Any:
    """An integer as a text in a list: the bridge binds it under a CAST, as JavaScript would make a REAL of it."""
    return [str(int(value))] if isinstance(value, int) else value


def _size(value: Any) -> int:
    return len(value.encode()) + value.count('"') + value.count("\\") if isinstance(value, str) else 24


def _within(statement: Statement) -> Iterator[Statement]:
    """A statement whose rows are too large for one parameter as several."""
    rows = statement.values.get("rows")
    if statement.query not in BY_ROWS or not isinstance(rows, Rows) or len(rows.values) < 2:
        yield statement
        return
    if len(bind_values({"rows": rows})["rows"].encode()) <= MOST_VALUE:
        yield statement
        return
    half = len(rows.values) // 2
    for part in (rows.values[:half], rows.values[half:]):
        yield from _within(statement._replace(values={**statement.values, "rows": rows._replace(values=part)}))


def _checked(sent: Sent) -> Sent:
    if len(sent.values) > MOST_PARAMETERS:
        raise StoreError(
            f"{sent.query}: {len(sent.values)} parameters, and D1 takes {MOST_PARAMETERS}; ask for less at once."
        )
    if sent.text is not None and len(sent.text.encode()) > MOST_TEXT:
        raise StoreError(f"{sent.query}: SQL of more than {MOST_TEXT:,} bytes, which D1 refuses; use fewer conditions.")
    largest = max((len(value.encode()) for value in sent.values.values() if isinstance(value, str)), default=0)
    if largest > MOST_VALUE:
        raise StoreError(
            f"{sent.query}: a value of {largest:,} bytes, and D1 takes {MOST_VALUE:,}; keep large inputs and results "
            "elsewhere and hand on where they are, or hand in less at once."
        )
    return sent


def _stands_alone(sent: Sent) -> bool:
    return sent.exactly is None and (sent.query in APART or sent.query.startswith("load_"))


def _fits(sent: Sequence[Sent]) -> bool:
    if len(sent) == 1:
        return sent[0].size <= MOST_BODY
    return sum(each.number for each in sent) <= MOST_STATEMENTS and sum(each.size for each in sent) <= MOST_BODY


def _chunks(sent: Sequence[Sent]) -> Iterator[list[Sent]]:
    chunk: list[Sent] = []
    for unit in _units(sent):
        if chunk and not _fits([*chunk, *unit]):
            yield chunk
            chunk = []
        chunk += unit
    if chunk:
        yield chunk


def _units(sent: Sequence[Sent]) -> list[list[Sent]]:
    units: list[list[Sent]] = []
    for each in sent:
        if units and each.query in TOGETHER:
            units[-1].append(each)
        else:
            units.append([each])
    return units


def _too_much(sent: Sequence[Sent]) -> StoreError:
    number, size = sum(each.number for each in sent), sum(each.size for each in sent)
    if number > MOST_STATEMENTS:
        much = f"{number} statements, and D1 takes {MOST_STATEMENTS}"
    else:
        much = f"{size:,} bytes, and the bridge takes {MOST_BODY:,}"
    return StoreError(
        f"What must be written together ({sent[0].query} … {sent[-1].query}) is {much} in one transaction; nothing was "
        "written. Hand in fewer at once: of runs with a key 8 fit in a call, of those that replace others 3."
    )
