"""The process behind `warm`: it has imported Workbell, and forks one that goes on as a program for each request.

A request names a module to be run as with `python -m`, its arguments, folder and environment, and comes with the three
files that will be its input and outputs. The answers are the ids of processes, and later how they ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any

# What most of the programs load when they begin to do something: an import of Workbell loads little by itself.
FIRST = (
    "workbell.cli.main",
    "workbell.cli.bell",
    "workbell.workers.child",
    "workbell.bulk.job",
    "workbell.webhooks.alerts",
    "workbell.webhooks.delivery",
    "workbell.stores.sqlite.store",
    "workbell.stores.postgres.store",
)
LARGEST = 100_000  # bytes of a request


def serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork until the other side is gone. In a forked process the answer is what it is to do."""
    woken, waker = socket.socketpair()
    for end in (woken, waker):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # so that it is a signal that wakes
    signal.set_wakeup_fd(waker.fileno())
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        if woken in ready:
            woken.recv(1000)
            tell_who_ended(control)
        if control not in ready:
            continue
        text, files, _, _ = socket.recv_fds(control, LARGEST, 3)
        if not text:
            return None
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (control, woken, waker):
                end.close()
            for place, file in enumerate(files):
                os.dup2(file, place)
                os.close(file)
            request: dict[str, Any] = json.loads(text)
            return request
        for file in files:
            os.close(file)
        control.send(json.dumps({"begun": pid}).encode())


def tell_who_ended(control: socket.socket) -> None:
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            pid, status = found
            control.send(json.dumps({"ended": pid, "code": os.waitstatus_to_exitcode(status)}).encode())


def become(request: dict[str, Any]) -> None:
    """As if Python had been started with this."""
    os.chdir(request["folder"])
    given = request["environment"]
    os.environ.clear()
    os.environ.update(given)
    time.tzset()
    ours = len(ORIGINAL_PATH.split(os.pathsep)) + 1
    sys.path[:ours] = [request["folder"], *filter(None, given.get("PYTHONPATH", "").split(os.pathsep))]
    importlib.invalidate_caches()
    sys.argv = [request["module"], *request["arguments"]]
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    ORIGINAL_PATH = os.environ["PYTHONPATH"]
    for name in FIRST:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is there now need not be looked at, and copied, by each
    try:
        found = serve(socket.socket(fileno=int(sys.argv[1])))
    except (KeyboardInterrupt, BrokenPipeError, ConnectionError):
        found = None
    if found is not None:
        become(found)
