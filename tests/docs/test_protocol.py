"""The protocol page (D10) says what the code does: diagram, moves, lane ids, columns."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, ROOT, text_of
from workbell.model.ids import lane_id
from workbell.model.state import MOVES, diagram

TEXT = text_of(DOCS / "protocol.md")
MIGRATIONS = ROOT / "src" / "workbell" / "stores" / "sql" / "migrations"
TABLE = re.compile(r"^CREATE TABLE (\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL)
COLUMN = re.compile(r"^    ([a-z_]+) +([A-Za-z ]+?)(?: NOT NULL.*| DEFAULT.*| PRIMARY.*| CHECK.*)?,?$", re.MULTILINE)
VECTOR = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| (?:`([^`]+)`|none) \| `(\d+)` \|$", re.MULTILINE)


def test_the_state_diagram_is_the_state_machine() -> None:
    """D3: what the page draws is what the code does."""
    shown = TEXT.partition("<!-- state-diagram -->\n")[2].partition("<!-- /state-diagram -->")[0]
    assert shown == f"```mermaid\n{diagram()}\n```\n"


def test_every_move_is_listed_with_its_statuses() -> None:
    rows = {line.split(" | ")[0].strip("| `"): line.split(" | ") for line in TEXT.splitlines() if "` | `" in line}
    for move, rule in MOVES.items():
        shown = rows[move]
        assert re.findall(r"`(\w+)`", shown[1]) == list(rule.sources), move
        assert re.findall(r"`(\w+)`", shown[2]) == list(rule.targets), move


def test_lane_ids_are_right() -> None:
    """The vectors that a consumer in another language checks itself against."""
    rows = VECTOR.findall(TEXT)
    assert len(rows) >= 3
    for tenant, queue, job, target, number in rows:
        assert int(number) == lane_id(tenant, queue, job, target or None)


def test_the_tables_have_the_columns_of_both_engines() -> None:
    for engine, place in (("postgres", 1), ("sqlite", 2)):
        sql = "\n".join(text_of(file) for file in sorted((MIGRATIONS / engine).glob("*.sql")))
        tables = TABLE.findall(sql)
        assert len(tables) >= 8
        for table, body in tables:
            columns = [(name, kind.strip()) for name, kind in COLUMN.findall(body)]
            section = TEXT.partition(f"### `{table}`")[2].partition("\n### ")[0]
            rows = [re.findall(r"`([^`]+)`", line) for line in section.splitlines() if line.startswith("| `")]
            assert [(row[0], row[place]) for row in rows] == columns, (engine, table)
