"""A small shop. `workbell dev --start open_shop` opens it, and it takes orders until you press Ctrl-C."""

import asyncio
import random
import time
from functools import cache

import courier

from workbell import Context, Event, Retry, Snooze, Workbell

bell = Workbell()  # the URL of its store stands in workbell.toml


@bell.job
def open_shop(number: int = 1) -> str:
    """Take an order or three, and come back in two seconds."""
    hire_courier()
    orders = [number * 10 + place for place in range(random.randint(1, 3))]
    for order in orders:
        charge_card.enqueue(order=order, amount=round(random.uniform(5, 90), 2))
    # The key makes it safe to run this twice: of the next round there is only one.
    open_shop.options(delay=2, key=f"round {number + 1}").enqueue(number=number + 1)
    return f"round {number}: {len(orders)} orders"


@bell.job(queue="payments", retry=Retry(attempts=4, delay=1, factor=2))
async def charge_card(ctx: Context, order: int, amount: float) -> dict[str, float]:
    """The bank is not always there: a run that raises is retried, later each time, and fails after four attempts."""
    await asyncio.sleep(random.uniform(0.02, 0.2))
    if order % 100 == 0 or (order % 3 == 0 and ctx.run.attempt == 1):
        raise ConnectionError(f"the bank did not answer for order {order}")
    pack_order.enqueue(order=order, items=random.randint(1, 5))
    return {"order": order, "charged": amount}


@bell.job
def pack_order(ctx: Context, order: int, items: int) -> str:
    """A plain function runs in a thread, and reports its progress."""
    for item in range(items):
        ctx.progress(item, items, f"item {item + 1}")
        time.sleep(0.05)
    send_parcel.enqueue(order=order)
    return f"order {order}: {items} items"


@bell.job
async def send_parcel(ctx: Context, order: int) -> str | Snooze:
    """Waiting for something is no failure: ask to be called again."""
    if ctx.run.attempt == 1 and order % 2:
        return Snooze(3, "the courier is not here yet")
    await asyncio.sleep(0.01)
    # The emitter does not know the listeners. The key: it is stored once, also if this run is executed twice.
    await ctx.aemit("orders.sent", {"order": order}, key=f"sent in {ctx.run.id}")
    return f"order {order} is on its way"


@bell.on("orders.*")
def tell_buyer(event: Event) -> str:
    """Started by every event whose type matches: `workbell events emit orders.lost '{"order": 11}'`."""
    return f"order {event.data['order']}: {event.type.removeprefix('orders.')}"


@cache
def hire_courier() -> None:
    """A webhook sends events to another firm: signed, and retried until delivered."""
    courier.listen()
    if not bell.webhooks.list():
        bell.webhooks.add(courier.URL, patterns=["orders.sent"], description="the courier")
