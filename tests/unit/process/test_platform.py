"""The platform: what may be used is said in one place, and nothing of it with WORKBELL_PLATFORM=plain."""

from __future__ import annotations

import ast
import multiprocessing.util
import sys
from pathlib import Path

import pytest

import workbell
from workbell.errors import SettingsError
from workbell.process.platform import NOTHING, _platform, platform, process_context

SOURCE = Path(workbell.__file__).parent
# Windows has no `resource`, and macOS counts its memory in other units.
ASKED_ELSEWHERE = {"engine/handler_processes/limits.py", "process/identity.py", "process/platform.py"}


def test_plain_has_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBELL_PLATFORM", "plain")
    assert platform() == NOTHING
    assert not any(platform())
    assert process_context([]).get_start_method() == "spawn"


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux has")
@pytest.mark.parametrize("value", ["auto", ""])
def test_linux_has_all(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("WORKBELL_PLATFORM", value)
    assert all(platform())
    assert process_context([]).get_start_method() == "forkserver"


def test_macos_has_no_locks_of_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Python has names for them, and its kernel another `struct flock`."""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert _platform.__wrapped__("auto").open_file_locks is False


def test_anything_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBELL_PLATFORM", "windows")
    with pytest.raises(SettingsError, match="WORKBELL_PLATFORM: 'windows' is none of auto, plain"):
        platform()


@pytest.mark.parametrize(("version", "abstract"), [((3, 11, 0), False), ((3, 11, 1), True)])
def test_no_abstract_socket(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], abstract: bool) -> None:
    """The fork server of Python 3.11.0 must not be reached by other users."""
    monkeypatch.setenv("WORKBELL_PLATFORM", "auto")
    monkeypatch.setattr(multiprocessing.util, "abstract_sockets_supported", True)
    monkeypatch.setattr(sys, "version_info", version)
    process_context([])
    assert multiprocessing.util.abstract_sockets_supported is abstract


def test_nobody_else_asks_which_system_it_is() -> None:
    """Else `plain` would not be believed: some part would still use what only Linux has."""
    asking = set()
    for file in SOURCE.rglob("*.py"):
        text = file.read_text("utf-8")
        if not any(word in text for word in ("platform", "uname")):
            continue  # a tree takes a hundred times as long
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.platform", "os.uname", "platform.system"):
                asking.add(file.relative_to(SOURCE).as_posix())
    assert asking == ASKED_ELSEWHERE
