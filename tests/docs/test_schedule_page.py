"""The page about schedules (F2, F3) names every policy, outcome and reason that the code has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import StrEnum

import pytest

from tests.docs.pages import DOCS, ROOT, table_rows, text_of
from workbell.model.run import Outside
from workbell.model.schedule import CatchUp, FireStatus, Overlap, ScheduleKind, ScheduleOptions, TickOutcome
from workbell.stores.schedules.schedules import REASON

TEXT = text_of(DOCS / "reference" / "schedules.md")
SOURCE = ROOT / "src" / "workbell"
FREE = re.compile(r"\b(?:RUN|ERROR|REASON|NAME)\b|\b\d[\d: -]*\b")  # what differs from row to row


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def texts(node: ast.AST) -> Iterator[str]:
    """Texts of more than one word that the code may write; not its docstrings, nor what it raises."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise) or (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            continue
        if isinstance(child, ast.FormattedValue):
            yield from texts(ast.Expression(child.value))
        elif isinstance(child, ast.Constant) and isinstance(child.value, str) and " " in child.value.strip():
            yield child.value.strip()
        else:
            yield from texts(child)


@pytest.mark.parametrize("file", ["scheduling/decide.py", "scheduling/failing.py", "scheduling/control.py"])
def test_every_reason_of_the_code_is_on_the_page(file: str) -> None:
    written = {text for text in texts(ast.parse(text_of(SOURCE / file))) if text != "no reason was noted"}
    assert written
    plain = TEXT.replace("`", "")
    assert [text for text in written if text not in plain] == []


def test_every_reason_on_the_page_is_in_the_code() -> None:
    code = "".join(
        text_of(SOURCE / name)
        for name in (
            "scheduling/decide.py",
            "scheduling/failing.py",
            "scheduling/control.py",
            "job_files/job_folder.py",
        )
    )
    ledger = [cell for _, cell, _ in table_rows(TEXT, "The ledger")]
    reasons = [words(cell)[0] for cell in ledger if words(cell)]
    reasons += [words(row[0])[0] for row in table_rows(TEXT, "Is it firing?")]
    assert len(reasons) >= 18
    for reason in reasons:
        for part in FREE.split(reason.replace("; by then", " RUN ; by then")):
            assert part.strip(" '()") in code, reason
    assert REASON in TEXT


def test_every_word_is_on_the_page() -> None:
    policies = {words(row[0])[0]: words(row[1]) for row in table_rows(TEXT, "Policies")}
    kinds: dict[str, type[StrEnum]] = {"outside": Outside, "overlap": Overlap, "catch_up": CatchUp}
    shown = {name: set(choices) for name, choices in policies.items()}
    assert shown == {name: set(kind) for name, kind in kinds.items()} | {"last_fire_status": set(FireStatus)}
    for name in kinds:
        assert policies[name][0] == getattr(ScheduleOptions(), name)
    assert {words(row[0])[0] for row in table_rows(TEXT, "The ledger")} == set(TickOutcome)
    assert {words(row[0])[0] for row in table_rows(TEXT, "Kinds")} == set(ScheduleKind)
