"""The fork server of Python 3.11.0 must not be reached by other users."""

from __future__ import annotations

import multiprocessing.util
import sys

import pytest

from workbell.process.identity import forkserver_context


@pytest.mark.parametrize(("version", "abstract"), [((3, 11, 0), False), ((3, 11, 1), True)])
def test_no_abstract_socket(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], abstract: bool) -> None:
    monkeypatch.setattr(multiprocessing.util, "abstract_sockets_supported", True)
    monkeypatch.setattr(sys, "version_info", version)
    forkserver_context()
    assert multiprocessing.util.abstract_sockets_supported is abstract
