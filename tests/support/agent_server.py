"""A server in one process, to be killed and started again: the API and the scheduler, without workers.

Run with `python -m`. The store comes from WORKBELL_URL, the port from WORKBELL_HTTP_PORT.
"""

from __future__ import annotations

import asyncio

from workbell import Workbell
from workbell.engine.role import Role
from workbell.http.binding import bind


def main() -> None:
    bell = Workbell()
    door = bind(bell.settings)
    asyncio.run(bell.serve(Role(works=False), http=door))


if __name__ == "__main__":
    main()
