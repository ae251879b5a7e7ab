"""Redis queue: a list of messages for each queue name, which workers pop while they have a slot free.

A list and not a stream: what a stream's pending entries guard, the lease of a run guards already. Keys begin with the
identity of the store, so that two stores on one Redis do not mix; it stands in braces, which puts all of them into one
slot of a cluster.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError
from redis.retry import Retry

from workbell.errors import InvalidUrl, QueueUnavailable, WorkbellError
from workbell.logs.rate_limit import RateLimitedMessage
from workbell.model.ids import new_id
from workbell.queues.message import decode, encode
from workbell.queues.port import Permit, Sent
from workbell.stores.port import Store

log = logging.getLogger("workbell.queues")

T = TypeVar("T")

DEADLINE = 1.0  # seconds for a command, and for a connection: the caller of an enqueue waits for it
SLICE = 1.0  # seconds that one pop blocks: then new queue names are read, and a lost connection is noticed
LONGEST = 100_000  # messages in a list: beyond that the oldest are dropped
AT_ONCE = 10_000  # messages in one command
EXPIRE = 86_400  # seconds after which a list that nobody sends to is gone


class RedisQueue:
    """Pops on a connection of its own: a blocked one can do nothing else."""

    def __init__(self, url: str, identity: Callable[[], str]) -> None:
        """Connects to nothing; `identity` is that of the store, read with the first message."""
        self._sender = _open(url, DEADLINE)
        self._receiver = _open(url, SLICE + DEADLINE)
        self.name = _name_of(self._sender)
        self._identity = identity
        self._prefix = ""
        self._own = new_id()
        self._names: list[str] = []  # queue names that are known, for a worker that serves all
        self._names_at = 0.0
        self._turn = 0
        self._interrupted = False
        self._pops_many = True  # BLMPOP, from Redis 7.0
        self._unreadable: dict[str, RateLimitedMessage] = {}

    def send(self, sent: Sequence[Sent]) -> None:
        if not sent:
            return
        messages: dict[str, list[str]] = {}
        for run, queue in sent[-LONGEST:]:
            messages.setdefault(queue, []).append(encode(run))
        self._push(messages)

    def receive(self, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]:
        end = time.monotonic() + wait
        try:
            while not self._interrupted:
                left = end - time.monotonic()
                found = self._call(partial(self._pop, most, min(max(left, 0.01), SLICE), queues))
                if found or left <= SLICE:
                    return found
            return []
        finally:
            self._interrupted = False

    def ack(self, receipts: Sequence[str]) -> None:
        """Nothing: a message is gone once it was popped."""

    def give_back(self, receipts: Sequence[str], delay: float) -> None:
        if not receipts:
            return
        messages: dict[str, list[str]] = {}
        for queue, _, text in (receipt.partition("\n") for receipt in receipts):
            messages.setdefault(queue, []).append(text)
        if delay <= 0:
            self._push(messages, first=True)
            return
        timer = threading.Timer(delay, self._push_late, [messages])
        timer.daemon = True
        timer.start()

    def interrupt(self) -> None:
        """By a message to itself: to end the connection could lose one that was popped for it just now."""
        self._interrupted = True
        if self._prefix:
            key = self._key("wake", self._own)
            with self._sender.pipeline(transaction=False) as pipe:
                pipe.rpush(key, "")
                pipe.expire(key, round(SLICE + DEADLINE))
                self._call(pipe.execute)

    def describe(self) -> list[tuple[str, str, str]]:
        """Finding for `doctor`: level (ok, note, risk), what, and a sentence."""
        began = time.monotonic()
        try:
            version = self._call(lambda: self._sender.info("server"))["redis_version"]
        except QueueUnavailable as error:
            return [("risk", "queue", str(error))]
        took = (time.monotonic() - began) * 1000
        return [("ok", "queue", f"Redis {version} at {self.name} answers (in {took:.1f} ms)")]

    def close(self) -> None:
        self._sender.close()
        self._receiver.close()

    # Keys

    def _key(self, kind: str, name: str = "") -> str:
        if not self._prefix:
            self._prefix = f"workbell:{{{self._identity()}}}"
        return f"{self._prefix}:{kind}:{name}" if name else f"{self._prefix}:{kind}"

    # Lists

    def _push(self, messages: dict[str, list[str]], *, first: bool = False) -> None:
        names = self._key("names")
        with self._sender.pipeline(transaction=False) as pipe:
            pipe.sadd(names, *messages)
            pipe.expire(names, EXPIRE)
            for name, texts in messages.items():
                key = self._key("queue", name)
                for start in range(0, len(texts), AT_ONCE):
                    (pipe.lpush if first else pipe.rpush)(key, *texts[start : start + AT_ONCE])
                pipe.ltrim(key, -LONGEST, -1)
                pipe.expire(key, EXPIRE)
            self._call(pipe.execute)

    def _push_late(self, messages: dict[str, list[str]]) -> None:
        try:
            self._push(messages)
        except Exception as error:  # noqa: BLE001  also where the queue was closed meanwhile
            log.debug("permits could not be given back: %s", error)

    def _pop(self, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]:
        names = self._all_names() if queues is None else list(queues)
        self._turn += 1
        start = self._turn % len(names) if names else 0  # the first list that has messages is popped: all take turns
        keys = {self._key("queue", name): name for name in names[start:] + names[:start]}
        own = self._key("wake", self._own)
        key, texts = self._blocked_pop([own, *keys], most, wait)
        if key is None or key == own:
            return []
        return [self._permit(keys[key], text) for text in texts]

    def _blocked_pop(self, keys: Sequence[str], most: int, wait: float) -> tuple[str | None, list[bytes]]:
        """The key of the first list that has messages, and the oldest of them."""
        if self._pops_many:
            try:
                found = self._command("BLMPOP", wait, len(keys), *keys, "LEFT", "COUNT", most)
            except ResponseError as error:
                if "unknown command" not in str(error).lower():
                    raise
                self._pops_many = False
            else:
                return (None, []) if found is None else (found[0].decode(), list(found[1]))
        first = self._command("BLPOP", *keys, wait)
        if first is None:
            return None, []
        with self._receiver.pipeline(transaction=False) as pipe:
            for _ in range(most - 1):
                pipe.lpop(first[0])
            rest = pipe.execute() if most > 1 else []
        return first[0].decode(), [first[1], *(text for text in rest if text is not None)]

    def _command(self, *words: str | float) -> Any:
        return self._receiver.execute_command(*words)  # type: ignore[no-untyped-call]

    def _all_names(self) -> list[str]:
        """Queue names that anything was ever sent to; those of the last minutes stay known if Redis is emptied."""
        now = time.monotonic()
        if now - self._names_at >= SLICE:
            found: Iterable[bytes] = self._receiver.smembers(self._key("names"))  # type: ignore[assignment]
            self._names = sorted({*self._names, *(name.decode() for name in found)})
            self._names_at = now
        return self._names

    def _permit(self, queue: str, text: bytes) -> Permit:
        """A message that cannot be read is a permit without a run: the worker claims what the store has."""
        try:
            return Permit(decode(text), f"{queue}\n{text.decode()}")
        except WorkbellError as error:
            message = str(error)
            limited = self._unreadable.setdefault(
                message[:80], RateLimitedMessage(log, logging.WARNING, f"Redis at {self.name}: {message}")
            )
            limited.log(time.monotonic())
            return Permit()

    def _call(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (AuthenticationError, NoPermissionError) as error:
            raise QueueUnavailable(
                f"Redis at {self.name} refuses this user or password ({_line(error)}); correct queue_url."
            ) from None
        except (RedisError, OSError) as error:
            raise QueueUnavailable(
                f"Redis at {self.name} does not answer ({_line(error)}); start it, or correct queue_url."
            ) from None


def open_url(url: str, *, store: Store, **_later: Any) -> RedisQueue:
    return RedisQueue(url, store.identity)


def _open(url: str, deadline: float) -> redis.Redis:
    try:
        return redis.Redis.from_url(
            url,
            socket_timeout=deadline,
            socket_connect_timeout=DEADLINE,
            # Once more on a new connection: that a message comes twice does no harm. Not after a timeout: the caller
            # of an enqueue waits.
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
            client_name="workbell",
        )
    except Exception as error:  # noqa: BLE001  its own text may quote the password
        raise InvalidUrl(
            f"The queue's URL cannot be read ({type(error).__name__}); write it as redis://user:password@host:6379/0."
        ) from None


def _name_of(client: redis.Redis) -> str:
    """Host, port and database, as messages name them."""
    given = client.connection_pool.connection_kwargs
    place = given["path"] if "path" in given else f"{given.get('host', 'localhost')}:{given.get('port', 6379)}"
    return f"{place}/{given.get('db', 0)}"


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
