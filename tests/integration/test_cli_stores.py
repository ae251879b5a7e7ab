"""Which store a command works on: what is said of one that cannot be used, is empty, or is another than was meant."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused

READING = [
    ["runs", "list"],
    ["jobs", "list"],
    ["queues", "list"],
    ["schedules", "list"],
    ["workers", "list"],
    ["events", "list"],
    ["triggers", "list"],
    ["webhooks", "list"],
    ["agents", "list"],
    ["tenants", "list"],
    ["tokens", "list"],
    ["audit"],
]


@pytest.mark.parametrize("arguments", [*READING[:2], ["doctor"], ["migrate"], ["copy", "--to", "memory://"]])
def test_a_file_that_may_not_be_looked_at(
    arguments: list[str], folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = Path.stat

    def refuse(path: Path, **options: Any) -> Any:
        if "secret" in path.parts:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    answer = folder.call(*arguments, "--url", "sqlite:///secret/x.db")
    assert answer.code == 69, answer
    assert answer.error == (
        "workbell: secret/x.db: Permission denied; make the folder secret readable and writable for this user, "
        "or change the URL (--url, WORKBELL_URL, or url in workbell.toml).\n"
    )


def test_a_name_that_the_system_does_not_take(folder: Folder) -> None:
    answer = folder.call("runs", "list", "--url", f"sqlite:///{'x' * 300}.db")
    assert_refused(answer, 69, "File name too long; change the URL (--url, WORKBELL_URL, or url in workbell.toml)")
