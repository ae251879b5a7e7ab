"""The first steps of a newcomer, as another user: `python -m tests.support.walk FOLDER UMASK UID`, a line for each.

Another user may not be able to read the interpreter's own files. So each command is called in a scratch folder first,
by whoever starts this: what it imports is there when a fork of the process becomes that user.
"""

from __future__ import annotations

import os
import sys
import tempfile

from workbell.cli import main

COMMANDS = ("init", "check", "jobs list", "runs list", "doctor")


def call(command: str) -> int:
    sys.argv = ["workbell", *command.split()]
    return main.run()


def become(user: int) -> None:
    if user != os.geteuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def walk(folder: str, umask: int, user: int) -> None:
    told = []
    for command in COMMANDS:
        child = os.fork()
        if child == 0:
            os.umask(umask)
            become(user)
            os.chdir(folder)
            os._exit(call(command))
        told.append(f"{command} {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")
    sys.stderr.write("\n".join(told) + "\n")


if __name__ == "__main__":
    folder, umask, user = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    trust = os.environ.pop("WORKBELL_TRUST", None)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for command in COMMANDS:
            call(command)
        os.chdir("/")
    if trust is not None:
        os.environ["WORKBELL_TRUST"] = trust
    walk(folder, umask, user)
