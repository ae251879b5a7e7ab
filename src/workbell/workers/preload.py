"""Imported first by the process that children are forked from, and by nothing else.

That process must outlive whatever stops the others: signals that a terminal or an init system sends to the whole group
are for the supervisor to act upon. Children set their own handlers.
"""

from __future__ import annotations

import signal

for _number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_number, signal.SIG_IGN)
