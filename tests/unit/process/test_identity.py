"""The fork server of Python 3.11.0 must not be reached by other users."""

from __future__ import annotations

import multiprocessing.util
import os
import sys

import pytest

from workbell.process.identity import forkserver_context, process_name


@pytest.mark.parametrize(("version", "abstract"), [((3, 11, 0), False), ((3, 11, 1), True)])
def test_no_abstract_socket(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], abstract: bool) -> None:
    monkeypatch.setattr(multiprocessing.util, "abstract_sockets_supported", True)
    monkeypatch.setattr(sys, "version_info", version)
    forkserver_context()
    assert multiprocessing.util.abstract_sockets_supported is abstract


def test_a_forked_child_has_a_name_of_its_own() -> None:
    """The start of a process is read once, and a child is another process."""
    before = process_name()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, process_name().encode())
        os._exit(0)
    os.waitpid(child, 0)
    name = os.read(read, 1000).decode()
    os.close(read)
    os.close(write)
    assert name.split("/")[1] == str(child)
    assert name != before == process_name()
    assert name.split("/")[2]
