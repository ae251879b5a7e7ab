"""Background work of the orders."""

from django.db import transaction
from django.db.models import F

from orders.models import Order
from workbell.django import task


class BankError(Exception):
    """The bank does not answer."""


@task(max_attempts=5, backoff=[1, 10, 60], timeout=30, key="charge:{order}")
def charge(order: int) -> int:
    found = Order.objects.get(pk=order)
    if found.cents == 0:
        raise BankError(f"nothing to charge for order {order}")
    with transaction.atomic():
        Order.objects.filter(pk=order).update(charged=True)
        send_mail.enqueue(order, subject="Thank you")
    return found.cents


@task(queue_name="mail", priority=10, concurrency=2)
def send_mail(order: int, *, subject: str) -> str:
    Order.objects.filter(pk=order).update(mails=F("mails") + 1)
    return subject


@task(cron="0 3 * * *", timezone="Europe/Paris")
def remind() -> int:
    return Order.objects.filter(charged=False).count()
