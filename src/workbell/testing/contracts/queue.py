"""Contract of a queue: permits are sent, received, acknowledged and given back.

Subclass `QueueContract` and supply the fixture `connect`: each call of it opens the same queue, empty at first, as
another process would.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from workbell.model.ids import new_id
from workbell.queues.port import Permit, Queue, Sent

Connect = Callable[[], Queue]

SOON = 10.0  # seconds within which a permit must be there: the delivery itself should take a hundredth of them
MOMENT = 0.2  # seconds in which something must not happen


def runs(count: int = 1, queue: str = "default") -> list[Sent]:
    return [Sent(new_id(), queue) for _ in range(count)]


def receive(queue: Queue, count: int, queues: Sequence[str] | None = None) -> list[Permit]:
    """So many permits; fewer, if they do not come. Where they name no runs, one stands for all."""
    found: list[Permit] = []
    end = time.monotonic() + SOON
    while len(found) < count and (left := end - time.monotonic()) > 0:
        found += queue.receive(count - len(found), left, queues)
        if any(permit.run is None for permit in found):
            break
    return found


def use_up(queue: Queue) -> None:
    """Receive until nothing comes: also messages that a new connection brings by itself."""
    end = time.monotonic() + SOON
    while permits := queue.receive(100, MOMENT, None):
        queue.ack(receipts(permits))
        assert time.monotonic() < end, "permits come again and again, though nothing is sent"


def receipts(permits: Sequence[Permit]) -> list[str]:
    return [permit.receipt for permit in permits if permit.receipt is not None]


def named(permits: Sequence[Permit]) -> list[str]:
    return sorted(permit.run for permit in permits if permit.run is not None)


class QueueContract:
    def test_nothing_was_sent(self, connect: Connect) -> None:
        queue = connect()
        use_up(queue)
        begun = time.monotonic()
        assert queue.receive(10, MOMENT, None) == []
        assert time.monotonic() - begun >= MOMENT / 2, "a receive without a wait would be called again and again"

    def test_a_permit_wakes_one_who_waits(self, connect: Connect) -> None:
        sender, receiver = connect(), connect()
        use_up(receiver)
        found: list[Permit] = []
        waiting = threading.Thread(target=lambda: found.extend(receiver.receive(10, 6 * SOON, None)))
        waiting.start()
        (sent,) = runs()
        sender.send([sent])
        waiting.join(SOON)
        is_woken = not waiting.is_alive()
        receiver.interrupt()
        waiting.join()
        assert is_woken
        assert [permit.run for permit in found] in ([sent.run], [None])

    def test_all_that_is_sent_arrives_and_no_more_than_asked_for(self, connect: Connect) -> None:
        sender, receiver = connect(), connect()
        use_up(receiver)
        sent = runs(300)
        sender.send(sent[:299])
        sender.send(sent[299:])
        sender.send([])
        first = receiver.receive(7, SOON, None)
        assert 1 <= len(first) <= 7, "a permit is for a hand that is free"
        if named(first):
            assert named(first + receive(receiver, 300 - len(first))) == sorted(one.run for one in sent)

    def test_a_permit_is_nobody_elses(self, connect: Connect) -> None:
        sender, first, second = connect(), connect(), connect()
        use_up(first)
        use_up(second)
        sent = runs(20)
        sender.send(sent)
        mine = first.receive(10, SOON, None)
        others = receive(second, 20 - len(mine))
        if named(mine):
            assert max(Counter(named(mine + others)).values()) == 1
            assert named(mine + others) == sorted(one.run for one in sent)

    def test_what_is_acknowledged_does_not_come_again(self, connect: Connect) -> None:
        sender, receiver = connect(), connect()
        use_up(receiver)
        sender.send(runs(3))
        permits = receive(receiver, 3)
        receiver.ack(receipts(permits))
        receiver.ack(receipts(permits))  # twice: nothing more
        receiver.ack([])
        assert named(receiver.receive(10, MOMENT, None)) == []

    def test_what_is_given_back_comes_to_another(self, connect: Connect) -> None:
        sender, first, second = connect(), connect(), connect()
        use_up(first)
        use_up(second)
        sent = runs(2)
        sender.send(sent)
        permits = receive(first, 2)
        if receipts(permits):  # without one it needs no answer: everybody has had it
            first.give_back(receipts(permits), 0)
            assert named(receive(second, 2)) == sorted(one.run for one in sent)

    def test_what_is_given_back_for_later_comes_later(self, connect: Connect) -> None:
        sender, first, second = connect(), connect(), connect()
        use_up(first)
        use_up(second)
        sender.send(runs())
        permits = receive(first, 1)
        if receipts(permits):
            first.give_back(receipts(permits), 1.5)
            given_back = time.monotonic()
            assert len(receive(second, 1)) == 1
            assert time.monotonic() - given_back >= 1.0

    def test_a_worker_of_some_queues_leaves_the_others(self, connect: Connect) -> None:
        name = "Ärzte / a:b*{c} 'd' \"e\""  # any printable text
        sender, of_mail, of_others = connect(), connect(), connect()
        use_up(of_mail)
        use_up(of_others)
        mail, other = runs(1, "mail"), runs(1, name)
        sender.send([*mail, *other])
        taken = receive(of_mail, 1, ["mail"])
        assert named(taken) in ([mail[0].run], [])
        assert named(of_mail.receive(10, MOMENT, ["mail", "letters"])) == []
        assert named(receive(of_others, 1, [name])) in ([other[0].run], [])

    def test_a_wait_is_interrupted(self, connect: Connect) -> None:
        queue = connect()
        use_up(queue)
        waiting = threading.Thread(target=lambda: queue.receive(1, 6 * SOON, None))
        waiting.start()
        end = time.monotonic() + SOON
        while waiting.is_alive() and time.monotonic() < end:
            queue.interrupt()
            waiting.join(MOMENT)
        assert not waiting.is_alive()

    def test_it_can_be_closed_and_opened_again(self, connect: Connect) -> None:
        first = connect()
        first.send(runs())
        first.close()
        second = connect()
        use_up(second)
        connect().send(runs())
        assert receive(second, 1)
        second.close()

    def test_what_one_has_taken_and_lost_is_no_harm_to_others(self, connect: Connect) -> None:
        """The receiver is gone: it may come again or not; what is sent next comes."""
        sender, gone, other = connect(), connect(), connect()
        use_up(gone)
        use_up(other)
        sender.send(runs())
        receive(gone, 1)
        gone.close()
        use_up(other)
        (sent,) = runs()
        sender.send([sent])
        assert [permit.run for permit in receive(other, 1)] in ([sent.run], [None])
