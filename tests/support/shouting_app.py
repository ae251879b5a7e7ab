"""A worker of its own process whose job tells people something: `shout` to all, `whisper` to one."""

from __future__ import annotations

import logging

from workbell import Context, Workbell

from .worker_app import die_with_parent

bell = Workbell()


@bell.job
def shout(ctx: Context, first: int, last: int) -> None:
    for number in range(first, last + 1):
        ctx.broadcast(number)


@bell.job(isolate="process")
def whisper(ctx: Context, user_id: int) -> None:
    ctx.notify(user_id, "from inside")


if __name__ == "__main__":
    die_with_parent()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    bell.run()
