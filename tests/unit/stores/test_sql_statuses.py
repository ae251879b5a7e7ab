"""Statuses and guards in the SQL files, checked against the state machine.

A status is written into a query as text, and so is the condition that a run still has it: neither types nor imports
connect them to `model/state.py`. These tests do. A query that writes runs must be listed here, with its moves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pytest

from tests.support.sql_scopes import Nodes, Scope, scopes
from workbell.model.access import TokenKind
from workbell.model.event import MatchOutcome
from workbell.model.rewind import RewindKind
from workbell.model.run import FINAL, LIVE, AttemptStatus, Status
from workbell.model.schedule import FireStatus, ScheduleKind, TickOutcome
from workbell.model.state import MOVES, Move
from workbell.stores.queries import migrations
from workbell.stores.queries import queries as texts
from workbell.stores.reports.filters import RARE
from workbell.stores.rows import NEW, OF_END, UNCHANGED_COLUMNS
from workbell.stores.runs.moving import REPORTED

ENGINES = ("sqlite", "postgres")
RUNS, HISTORY = "workbell_runs", "workbell_history"

# What a column may hold.
WORDS: dict[tuple[str, str], frozenset[str]] = {
    (RUNS, "status"): frozenset(LIVE),
    (HISTORY, "status"): frozenset(FINAL),
    ("workbell_attempts", "status"): frozenset(AttemptStatus),
    ("workbell_matches", "outcome"): frozenset(MatchOutcome),
    ("workbell_ticks", "outcome"): frozenset(TickOutcome),
    ("workbell_schedules", "kind"): frozenset(ScheduleKind),
    ("workbell_schedules", "last_fire_status"): frozenset(FireStatus),
    ("workbell_reports", "last_run_status"): frozenset(REPORTED.values()),
    ("workbell_tokens", "kind"): frozenset(TokenKind),
    ("workbell_rewinds", "kind"): frozenset(RewindKind),
}
COLUMNS = {column for _, column in WORDS}
STATUSES = frozenset(Status)

# Queries that change the status of runs, out of the live table or within it, and the moves that they write.
MOVED_BY: dict[str, tuple[Move, ...]] = {
    "dispatch": (Move.DISPATCH,),
    "claim": (Move.START,),
    "take": (Move.START,),
    "take_of_lanes": (Move.START,),
    "move": (Move.RETRY, Move.RELEASE, Move.SNOOZE, Move.LOSE),
    "finish": (Move.SUCCEED, Move.FAIL, Move.LOSE, Move.CANCEL),
    "finish_well": (Move.SUCCEED,),
}
# Queries that write runs and leave their status as it is, and which status that is.
WRITTEN_IN: dict[str, Status] = {
    "restart_waits": Status.SCHEDULED,
    "renew": Status.RUNNING,
    "take_over": Status.RUNNING,
    "mark_alone": Status.RUNNING,
    "set_progress": Status.RUNNING,
    "request_cancel": Status.RUNNING,
}
# Queries that make runs.
MAKING = {"add_run", "add_runs", "add_keyed_run", "add_taken_runs", "add_advanced_runs", "load_run", "load_finished"}
# Why these need no guard on the status, or none on the token.
NO_STATUS = {
    "remove_live": "of the ids that came into history in the same batch, which is refused if one of them did not",
    "unload_run": "a copy follows the store that it is made from, and nobody works on it",
}
NO_TOKEN = {"request_cancel": "who asks for a cancel holds no lease: the run is meant, whoever works on it"}

# Queries that are slow without a partial index. It serves only a status that is written out in the query.
INDEXED: dict[Status, set[str]] = {
    Status.SCHEDULED: {"dispatch", "next_due", "next_due_after", "waits_ahead"}
    | {"scheduled_by_lane", "many_scheduled"},
    Status.QUEUED: {"survey", "claim", "ahead_of", "survey_targets", "survey_tenant", "waiting_targets"}
    | {"queued_runs", "queued_before", "queued_lanes", "queued_lanes_of_tenant"},
    Status.RUNNING: {
        "held_by_worker",
        "running_by_lane",
        "running_in_lane",
        "leases",
        "held_by",
        "leases_of",
        "running_within",
        "started_now",
        "as_many_started",
        "note_starts",
    },
}


class Literal(NamedTuple):
    text: str
    column: str | None  # that it is compared with
    selected: bool = False  # stands by itself in the list of a SELECT


# Columns of runs that are written, as queries name them; what is read need not be spelled out here.
WRITTEN_COLUMNS = {
    "{new_columns}": ", ".join(NEW),
    "{new_values}": ", ".join(f":{name}" for name in NEW),
    "{unchanged_columns}": ", ".join(UNCHANGED_COLUMNS),
    "{unchanged}": ", ".join(f"run.{name}" for name in UNCHANGED_COLUMNS),
    "{columns_of_end}": ", ".join(OF_END),
}


def queries(engine: str) -> dict[str, str]:
    found = dict(texts(engine))
    for word, columns in WRITTEN_COLUMNS.items():
        found = {name: text.replace(word, columns) for name, text in found.items()}
    return found


def unquoted(node: str | Nodes) -> str | None:
    return node[1:-1] if isinstance(node, str) and node.startswith("'") else None


def literals(nodes: Nodes, compared: str | None = None, depth: int = 0) -> Iterator[Literal]:
    """The quoted texts of a scope, without those of the scopes within it."""
    for place, node in enumerate(nodes):
        before = nodes[max(place - 2, 0) : place]
        column = compared
        if len(before) == 2 and before[1] in ("=", "<>", "IN", "LIKE", "ANY"):
            named = nodes[place - 3] if before[0] in ("NOT", "=") and place > 2 else before[0]
            column = column_in(named)
        text = unquoted(node)
        if text is not None:
            after = nodes[place + 1 : place + 2]
            selected = depth == 0 and before[-1:] in (["SELECT"], [","]) and after in ([","], ["FROM"], ["AS"])
            yield Literal(text, column, selected)
        elif isinstance(node, list) and node[:1] not in (["SELECT"], ["WITH"]):
            yield from literals(node, column, depth + 1)


def column_in(node: str | Nodes) -> str | None:
    """The column of a side of a comparison, also of `(r.status || '')`."""
    first = node if isinstance(node, str) else next((one for one in node if isinstance(one, str)), "")
    return first if re.fullmatch(r"[a-z_]+(\.[a-z_]+)?", first) else None


def wrong_words(engine: str) -> list[str]:
    """Literals that the column they are compared with cannot hold, and statuses that are compared with nothing."""
    found = []
    for name, text in queries(engine).items():
        for scope in scopes(text):
            own = {one.text for one in literals(scope.nodes) if (one.column or "").endswith("status")}
            for one in literals(scope.nodes):
                column = (one.column or "").rpartition(".")[2]
                if column in COLUMNS:
                    table = scope.table_of(one.column or "", [table for table, of in WORDS if of == column])
                    if one.text not in WORDS.get((table or "", column), ()):
                        found.append(f"{engine} {name}: {column} of {table} is never {one.text!r}")
                elif one.selected and scope.verb == "SELECT" and RUNS in scope.tables.values() and one.text not in own:
                    found.append(f"{engine} {name}: {one.text!r} is not the status that it selects")
                elif not one.selected and one.text in STATUSES:
                    found.append(f"{engine} {name}: {one.text!r} is compared with no status")
    return found


class Guard(NamedTuple):
    """What a row's column must be equal to: literals, or something that comes with the parameters."""

    literals: frozenset[str]
    given: str


def guards(scope: Scope, column: str, engine: str, within: bool = False) -> list[Guard]:
    """The guards on a column of live runs that hold for every row of a scope.

    Those of a subquery that chooses the rows count too. On PostgreSQL it must lock them: else they may have changed.
    """
    found = []
    counts = not within or scope.verb != "SELECT" or scope.locks or engine == "sqlite"
    aliases = [alias for alias, table in scope.tables.items() if table == RUNS]
    written = {"", *(aliases[:1] if scope.verb in ("UPDATE", "DELETE") else aliases)}
    for part in scope.conjuncts():
        if counts and column in pairs_of(part, written):
            found.append(Guard(frozenset(), "pairs"))
        if len(part) < 3 or not isinstance(part[0], str) or part[1] not in ("=", "IN"):
            continue
        alias, _, word = part[0].rpartition(".")
        if (
            word == column
            and len(part) == 3
            and counts
            and alias in written
            and scope.table_of(part[0], [RUNS]) == RUNS
        ):
            listed = part[2] if isinstance(part[2], list) and part[1] == "IN" else part[2:]
            texts = frozenset(text for node in listed if (text := unquoted(node)) is not None)
            found.append(Guard(texts, "" if texts else str(part[2])))
        elif word in ("id", "ctid", "rowid"):
            found += guards_of_all(list(subqueries(scope, part)), column, engine)
    if scope.verb in ("SELECT", "INSERT"):
        for source in scope.read_from():
            found += guards(source, column, engine, within=True)
    return found


def pairs_of(part: Nodes, written: set[str]) -> set[str]:
    """The columns of `CASE WHEN (a.id, a.token) IN (SELECT …) THEN true ELSE false END`: all are as the batch says."""
    if part[:2] != ["CASE", "WHEN"] or part[5:] != ["THEN", "true", "ELSE", "false", "END"]:
        return set()
    columns, verb, chosen = part[2:5]
    if verb != "IN" or not isinstance(columns, list) or not isinstance(chosen, list) or chosen[0] != "SELECT":
        return set()
    named = [str(node).rpartition(".") for node in columns if node != ","]
    return {word for alias, _, word in named if alias in written}


def guards_of_all(chosen: list[Scope], column: str, engine: str) -> list[Guard]:
    each = [guards(scope, column, engine, within=True) for scope in chosen]
    return [guard for one in each for guard in one] if all(each) else []


def subqueries(scope: Scope, nodes: Nodes) -> Iterator[Scope]:
    for node in nodes:
        if isinstance(node, list):
            yield from scope.inner[id(node)] if id(node) in scope.inner else subqueries(scope, node)


def split(nodes: Nodes) -> list[Nodes]:
    """A list at its commas."""
    parts: list[Nodes] = [[]]
    for node in nodes:
        if node == ",":
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def new_status(scope: Scope) -> Nodes | None:
    """What a write makes of the status; none if it leaves it as it is."""
    nodes = scope.nodes
    if scope.verb == "UPDATE":
        first = nodes.index("SET") + 1
        ends = (place for place, node in enumerate(nodes) if place > first and node in ("FROM", "WHERE", "RETURNING"))
        last = next(ends, len(nodes))
        return next((part[2:] for part in split(nodes[first:last]) if part[0] == "status"), None)
    if scope.verb == "INSERT":
        columns = next(node for node in nodes if isinstance(node, list))
        return selected(scope, nodes[nodes.index("SELECT") :], columns[::2].index("status"))
    return None


def selected(scope: Scope, nodes: Nodes, place: int) -> Nodes:
    """What a SELECT says in a place of its list; of `SELECT * FROM cte`, what that says there."""
    listed = split(nodes[1 : nodes.index("FROM")])
    if listed == [["*"]]:
        (source,) = scope.ctes[str(nodes[nodes.index("FROM") + 1])]
        return selected(source, source.nodes, place)
    return listed[place]


def wrong_writes(engine: str) -> list[str]:
    """Writes of runs that are in no table here, lack a guard, or are no move of the state machine."""
    found = []
    for name, text in queries(engine).items():
        for scope in scopes(text):
            for wrong in wrong_write(name, scope, engine):
                found.append(f"{engine} {name}: {wrong}")
    return found


def wrong_write(name: str, scope: Scope, engine: str) -> Iterator[str]:
    if scope.target == HISTORY and scope.verb != "INSERT":
        if scope.verb == "UPDATE" and new_status(scope) is not None:
            yield "a finished run keeps its status"
    elif scope.target in (RUNS, HISTORY):
        if scope.verb == "INSERT" and (name in MAKING or scope.target == RUNS):
            yield from wrong_making(name, scope)
        elif name in {*MOVED_BY, *WRITTEN_IN}:
            yield from wrong_change(name, scope, engine)
        elif name not in NO_STATUS:
            yield "writes runs, and is not listed in MOVED_BY or WRITTEN_IN"


def wrong_making(name: str, scope: Scope) -> Iterator[str]:
    if name not in MAKING:
        yield "makes runs, and is not listed in MAKING"
    if "DO" in scope.nodes and scope.nodes[scope.nodes.index("DO") + 1] == "UPDATE":
        yield "makes runs, and changes those that are there"


def wrong_change(name: str, scope: Scope, engine: str) -> Iterator[str]:
    target = new_status(scope)
    ends = scope.target == HISTORY or scope.verb == "DELETE"
    if target is not None or ends:
        rules = [MOVES[move] for move in MOVED_BY.get(name, ())]
        allowed = {(old, new) for rule in rules for old in rule.sources for new in rule.targets}
        allowed = {(old, new) for old, new in allowed if new in (FINAL if ends else LIVE)}
    else:
        allowed = {(status, status) for status in [WRITTEN_IN.get(name)] if status is not None}
    if not allowed:
        yield "none of its moves in MOVED_BY, nor its status in WRITTEN_IN, is what it writes"
    of_status = guards(scope, "status", engine)
    if not of_status:
        yield "has no guard on the status that it comes from"
    sources = {text for guard in of_status for text in guard.literals}
    for text in sorted(sources - {old.value for old, _ in allowed}):
        yield f"no move of it comes from {text}"
    if target is not None:
        yield from wrong_target(target, sources, allowed, of_status)
    from_running = Status.RUNNING in sources if sources else any(old is Status.RUNNING for old, _ in allowed)
    if from_running and name not in NO_TOKEN and not guards(scope, "token", engine):
        yield "writes a running run without a guard on its token"


def wrong_target(
    target: Nodes, sources: set[str], allowed: set[tuple[Status, Status]], of_status: list[Guard]
) -> Iterator[str]:
    text = unquoted(target[0])
    if text is not None:
        pairs = {(old.value, new.value) for old, new in allowed}
        for old in sorted(sources or {old for old, _ in pairs}):
            if (old, text) not in pairs:
                yield f"no move leads from {old} to {text}"
    elif any(guard.given == str(target[0]) for guard in of_status if len(target) == 1):
        yield "the status that it comes from is the one it goes to"
    elif str(target[0]) not in (":to_status", "new.status", "value"):
        yield f"the new status comes from {target[0]}, and not with the move"


def partial_indexes(engine: str) -> dict[str, tuple[str, str]]:
    """The indexes of runs of one status: table and condition, by name."""
    found: dict[str, tuple[str, str]] = {}
    for _, _, text in migrations(engine):
        plain = re.sub(r"--.*", "", text)
        for statement in plain.split(";"):
            words = " ".join(statement.split())
            made = re.match(r"CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?(\w+) ON (\w+) .*\) WHERE (.*)$", words)
            if made and "status" in made[3]:
                found[made[1]] = (made[2], made[3])
            gone = re.match(r"DROP INDEX (?:IF EXISTS )?(\w+)", words)
            if gone:
                found.pop(gone[1], None)
    return found


def wrong_indexes(engine: str) -> list[str]:
    """Partial indexes that serve no query, and queries that no partial index serves."""
    there = set(partial_indexes(engine).values())
    wanted = {(RUNS, f"status = '{status}'") for status in INDEXED} | {(HISTORY, f"status = '{one}'") for one in RARE}
    found = [f"{engine}: no index of {table} has WHERE {where}" for table, where in sorted(wanted - there)]
    found += [f"{engine}: nothing needs an index of {table} WHERE {where}" for table, where in sorted(there - wanted)]
    for status, names in INDEXED.items():
        for name in sorted(names):
            if not any(status.value in chosen_by_index(scope) for scope in scopes(queries(engine)[name])):
                found.append(f"{engine} {name}: does not spell out status = '{status}', as its index does")
    return found


def chosen_by_index(scope: Scope) -> set[str]:
    """The statuses that a scope itself asks for, in so many words."""
    return {
        text
        for part in scope.conjuncts()
        if len(part) == 3 and part[1] == "=" and isinstance(part[0], str) and part[0].rpartition(".")[2] == "status"
        if scope.table_of(part[0], [RUNS]) == RUNS and (text := unquoted(part[2])) is not None
    }


def wrong_checks(engine: str) -> list[str]:
    """CHECK constraints that allow other words than the model has."""
    found = []
    for _, migration, text in migrations(engine):
        for table, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", re.sub(r"--.*", "", text), re.DOTALL):
            for column, check in re.findall(r"^ +(\w+) .*CHECK \((.*)\)", body, re.MULTILINE):
                words = frozenset(re.findall(r"'(\w+)'", check))
                if words and words != WORDS.get((table, column), frozenset()):
                    found.append(f"{engine} {migration}: {table}.{column} allows {sorted(words)}")
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("check", [wrong_words, wrong_writes, wrong_indexes, wrong_checks])
def test_sql_keeps_to_the_state_machine(check: Callable[[str], list[str]], engine: str) -> None:
    assert check(engine) == []


def test_every_listed_query_is_there() -> None:
    listed: list[Mapping[str, object] | set[str]] = [MOVED_BY, WRITTEN_IN, NO_STATUS, NO_TOKEN, MAKING]
    there = {name for engine in ENGINES for name in queries(engine)}
    assert {name for names in listed for name in names} <= there


def test_every_move_is_written_by_some_query() -> None:
    for engine in ENGINES:
        written = {move for name in queries(engine) for move in MOVED_BY.get(name, ())}
        assert written == set(Move)


def test_the_engines_have_the_same_partial_indexes() -> None:
    assert partial_indexes("sqlite") == partial_indexes("postgres") != {}


class Fault(NamedTuple):
    """A text that somebody might write, and what is then said of it."""

    engine: str
    query: str
    right: str
    wrong: str
    check: Callable[[str], list[str]]
    said: str


BOTH_FAULTS = [
    ("next_due", "'scheduled'", "'schedulled'", wrong_words, "status of workbell_runs is never 'schedulled'"),
    ("pending_of_tag", "<> 'running'", "<> 'runing'", wrong_words, "status of workbell_runs is never 'runing'"),
    ("held_by", "'running'", "'failed'", wrong_words, "status of workbell_runs is never 'failed'"),
    ("others_of_tag", "'queued'", "'waiting'", wrong_words, "status of workbell_runs is never 'waiting'"),
    ("claim", "q.status = 'queued'", "q.status = 'scheduled'", wrong_writes, "no move of it comes from scheduled"),
    ("find_live", "SELECT {live}", "DELETE", wrong_writes, "not listed in MOVED_BY or WRITTEN_IN"),
    ("mark_alone", "token = :token AND ", "", wrong_writes, "without a guard on its token"),
    ("set_progress", " AND status = 'running'", "", wrong_writes, "no guard on the status"),
    ("set_progress", " AND status = 'running'", " OR status = 'running'", wrong_writes, "no guard on the status"),
    ("set_progress", "SET progress", "SET status = 'queued', progress", wrong_writes, "none of its moves"),
    ("move", "r.status = new.expected", "new.status = new.expected", wrong_writes, "no guard on the status"),
    (
        "move",
        "WHERE r.id = new.run_id AND r.",
        ", workbell_runs q WHERE r.id = new.run_id AND q.",
        wrong_writes,
        "no guard on the",
    ),
    ("load_run", "DO NOTHING", "DO UPDATE SET status = excluded.status", wrong_writes, "changes those that are there"),
    ("move", "r.status = new.expected AND ", "", wrong_writes, "no guard on the status"),
    ("move", "r.status = new.expected", "r.status = new.status", wrong_writes, "is the one it goes to"),
    ("move", "r.token = new.expected_token AND ", "", wrong_writes, "without a guard on its token"),
    ("move", "SET status = new.status", "SET status = r.status", wrong_writes, "the new status comes from r.status"),
    ("dispatch", "SET status = :to_status", "SET status = 'running'", wrong_writes, "from scheduled to running"),
    ("survey", "status = 'queued'", "status = :queued", wrong_indexes, "does not spell out status = 'queued'"),
    ("leases", "status = 'running'", "status <> 'queued'", wrong_indexes, "does not spell out status = 'running'"),
    ("held_by", "SELECT {live}", "DELETE", wrong_writes, "not listed in MOVED_BY or WRITTEN_IN"),
    ("find_lanes", "SELECT", "INSERT INTO workbell_runs SELECT", wrong_writes, "not listed in MAKING"),
]
PAIRS = "(run.id, run.token, run.status) IN (SELECT run_id, expected_token, expected FROM new)"
FAULTS = [Fault(engine, *fault) for fault in BOTH_FAULTS for engine in ENGINES] + [
    Fault(
        "postgres", "finish_well", PAIRS, "(run.id, run.token) IN (SELECT 1)", wrong_writes, "no guard on the status"
    ),
    Fault("postgres", "finish_well", PAIRS, "(run.id, run.status) IN (SELECT 1)", wrong_writes, "guard on its token"),
    Fault("postgres", "finish_well", PAIRS, PAIRS.replace("run.", "new."), wrong_writes, "guard on its token"),
    Fault("postgres", "finish_well", "ELSE false END", "ELSE true END", wrong_writes, "guard on its token"),
    Fault("sqlite", "finish", "run.status = (value ->> 1) AND ", "", wrong_writes, "no guard on the status"),
    Fault("sqlite", "finish", " AND run.token = (value ->> 2)", "", wrong_writes, "without a guard on its token"),
    Fault("sqlite", "finish", "value ->> 3, value", "run.status, value", wrong_writes, "comes from run.status"),
    Fault("sqlite", "finish_well", ":to_status", "'failed'", wrong_writes, "no move leads from running to failed"),
    Fault(
        "sqlite",
        "running_by_lane",
        "r.lane, count",
        "r.lane, 'queued', count",
        wrong_words,
        "'queued' is not the status",
    ),
    Fault("sqlite", "put_off", "SET remove_at", "SET status = 'failed', remove_at", wrong_writes, "keeps its status"),
    Fault("postgres", "finish", "r.status = new.expected AND ", "", wrong_writes, "no guard on the status"),
    Fault("postgres", "finish", " FOR UPDATE", "", wrong_writes, "no guard on the status"),
    Fault("postgres", "finish", "new.status", "run.status", wrong_writes, "the new status comes from run.status"),
    Fault("postgres", "renew", "FOR NO KEY UPDATE SKIP LOCKED", "", wrong_writes, "no guard on the status"),
    Fault("postgres", "take_over", "q.token = seen.token", "true", wrong_writes, "without a guard on its token"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.engine} {fault.query} {fault.said}")
def test_a_planted_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    right = queries(fault.engine)
    assert fault.right in right[fault.query]
    wrong = right | {fault.query: right[fault.query].replace(fault.right, fault.wrong)}
    monkeypatch.setattr(sys.modules[__name__], "queries", lambda engine: wrong)
    assert [said for said in fault.check(fault.engine) if f"{fault.query}: " in said and fault.said in said]


@pytest.mark.parametrize(
    ("right", "wrong", "check", "said"),
    [
        ("(scheduled_for) WHERE status = 'scheduled'", "(scheduled_for) WHERE status = 'queued'", wrong_indexes,
            "no index of workbell_runs has WHERE status = 'scheduled'"),
        ("(id) WHERE status = 'canceled'", "(id) WHERE status = 'cancelled'", wrong_indexes,
            "nothing needs an index of workbell_history WHERE status = 'cancelled'"),
        ("'coalesced', 'deferred'", "'coalesced', 'late'", wrong_checks, "workbell_ticks.outcome allows"),
        ("'too_deep'", "'deep'", wrong_checks, "workbell_matches.outcome allows"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ENGINES)
def test_a_planted_fault_in_a_migration_is_found(
    right: str, wrong: str, check: Callable[[str], list[str]], said: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = [(number, name, text.replace(right, wrong)) for number, name, text in migrations(engine)]
    assert changed != migrations(engine)
    monkeypatch.setattr(sys.modules[__name__], "migrations", lambda engine: changed)
    assert any(said in one for one in check(engine))
