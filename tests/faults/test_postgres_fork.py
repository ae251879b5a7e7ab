"""A fork after PostgreSQL was used: parent and child have connections of their own."""

from __future__ import annotations

import os
import signal
import traceback

from workbell import Workbell


def test_after_use(postgres_url: str) -> None:
    with Workbell(postgres_url) as bell:

        @bell.job
        def work() -> None: ...

        made = [work.enqueue().id]
        pid = os.fork()
        if pid == 0:
            try:
                signal.alarm(60)
                for _ in range(50):
                    work.enqueue()
                assert bell.get(made[0]).id == made[0]
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        try:
            made += [work.enqueue().id for _ in range(50)]  # at the same time: on one socket this would break
        finally:
            status = os.waitpid(pid, 0)[1]
        assert status == 0
        assert len(bell.runs(limit=1000)) == 101
        assert bell.store.find_runs(made).keys() == set(made)
