"""The page about moving to PostgreSQL names everything that `workbell copy` copies."""

from __future__ import annotations

import pytest

from tests.docs.pages import DOCS
from workbell.cli.transfer import KINDS

INTERNAL = {"lanes"}  # how queues are stored; nobody has to know


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in INTERNAL])
def test_it_is_named(kind: str) -> None:
    text = (DOCS / "how-to" / "sqlite-to-postgresql.md").read_text("utf-8")
    assert kind in " ".join(text.split())
