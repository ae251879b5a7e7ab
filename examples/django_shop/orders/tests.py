"""Tests of the orders: `drain` executes tasks inside the test's own transaction."""

from django.db import transaction
from django.test import TestCase

from orders.models import Order
from orders.tasks import BankError, charge
from workbell.django.testing import drain


class OrderTests(TestCase):
    def test_an_order_is_charged_and_thanked_for(self) -> None:
        answer = self.client.post("/orders/", {"buyer": "ada@example.org", "cents": "1250"}).json()
        charged, mailed = drain()
        self.assertEqual(charged.id, answer["task"])
        self.assertEqual(charged.return_value, 1250)
        self.assertEqual(mailed.return_value, "Thank you")
        order = Order.objects.get(pk=answer["order"])
        self.assertTrue(order.charged)
        self.assertEqual(order.mails, 1)

    def test_an_order_that_is_taken_back_is_never_charged(self) -> None:
        with self.assertRaises(ZeroDivisionError), transaction.atomic():
            order = Order.objects.create(buyer="bob@example.org", cents=100)
            charge.enqueue(order.pk)
            raise ZeroDivisionError
        self.assertEqual(drain(), [])

    def test_a_bank_that_does_not_answer_is_asked_again(self) -> None:
        order = Order.objects.create(buyer="eve@example.org", cents=0)
        result = charge.enqueue(order.pk)
        drain()
        result.refresh()
        self.assertEqual(result.status, "READY")  # for the next attempt
        self.assertIs(result.errors[0].exception_class, BankError)
        with self.assertRaises(BankError):
            charge.enqueue(Order.objects.create(buyer="eve@example.org", cents=0).pk)
            drain(raise_errors=True)
