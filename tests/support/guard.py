"""Runs a command as another user and ends it when its own standard input closes.

The tests hold the other end of that pipe. However they end, also by SIGKILL, the pipe closes, and no server and no
folder is left behind. Arguments: user (or `-`), a folder to remove in that case (or `-`), command.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading


def main(user: str, folder: str, *command: str) -> int:
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, **identity(user))

    closing = threading.Event()

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        closing.set()
        server.send_signal(signal.SIGCONT)
        server.send_signal(signal.SIGQUIT)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
        if folder != "-":
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    code = server.wait()
    if closing.is_set():
        watcher.join()  # it has the folder to remove
    return code


def identity(user: str) -> dict[str, object]:
    """Arguments for `subprocess` that make the command run as this user."""
    return {} if user == "-" else {"user": user, "group": _group(user), "extra_groups": [], "cwd": "/"}


def _group(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
