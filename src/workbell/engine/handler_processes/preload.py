"""Preload of the fork server, the process that handler processes are forked from; imported by nothing else.

A stop that is meant for all processes of a service must not end that one before the others: it alone can read the exit
codes of its children. They themselves stop as usual.
"""

from __future__ import annotations

import os
import signal

NUMBERS = (signal.SIGTERM, signal.SIGHUP)


def _as_usual() -> None:
    for number in NUMBERS:
        signal.signal(number, signal.SIG_DFL)


for number in NUMBERS:
    signal.signal(number, signal.SIG_IGN)
os.register_at_fork(after_in_child=_as_usual)
