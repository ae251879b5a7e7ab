"""Messages to systemd: one datagram each, to a path or an abstract socket; without NOTIFY_SOCKET none."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from workbell.process.service_manager import take_service_manager


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_one_datagram(tmp_path: Path, kind: str) -> None:
    name = str(tmp_path / "notify") if kind == "path" else f"@workbell-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(30)
        manager.bind(name.replace("@", "\0", 1) if kind == "abstract" else name)
        environment = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}
        ours = take_service_manager(environment)
        assert environment == {}, "programs that handlers start must not send messages of their own"
        assert (ours.listens, ours.watchdog) == (True, 30.0)
        ours.send("READY=1", "STATUS=ready")
        assert manager.recv(4096) == b"READY=1\nSTATUS=ready"


@pytest.mark.parametrize(
    ("environment", "listens", "watchdog"),
    [
        ({}, False, None),
        ({"NOTIFY_SOCKET": ""}, False, None),
        ({"NOTIFY_SOCKET": "vsock:1:2"}, False, None),
        ({"WATCHDOG_USEC": "5"}, False, None),
        ({"NOTIFY_SOCKET": "/run/x"}, True, None),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "2000000"}, True, 2.0),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "x"}, True, None),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}, True, None),
    ],
)
def test_what_the_environment_says(environment: dict[str, str], listens: bool, watchdog: float | None) -> None:
    manager = take_service_manager(dict(environment))
    assert (manager.listens, manager.watchdog) == (listens, watchdog)


def test_a_manager_that_is_gone_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    manager = take_service_manager({"NOTIFY_SOCKET": str(tmp_path / "gone")})
    manager.send("READY=1")
    manager.send("WATCHDOG=1")
    assert caplog.text.count("does not take messages") == 1
