"""Tokens as the store has them: also those that a later version wrote, which may run beside this one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from workbell import Workbell
from workbell.model.access import Scope


def test_a_scope_of_a_later_version_grants_nothing_here(tmp_path: Path) -> None:
    path = tmp_path / "workbell.db"
    with Workbell(f"sqlite:///{path}") as bell:
        for name in ("a", "b"):
            bell.tokens.create(name, scopes=["read"])
        with sqlite3.connect(path) as connection:
            connection.execute("""UPDATE workbell_tokens SET scopes = '["later","read"]' WHERE name = 'a'""")
        assert {token.name: token.scopes for token in bell.tokens.list()} == {"a": (Scope.READ,), "b": (Scope.READ,)}
