"""Loaded only by the server that processes are forked from.

A stop that is meant for all processes of a service must not end that server before its worker: it alone can tell how
its children ended. They themselves stop as usual.
"""

from __future__ import annotations

import os
import signal


def _as_usual() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.register_at_fork(after_in_child=_as_usual)
