"""Failure messages of sending, in plain words: they are shown with the attempt."""

from __future__ import annotations

import errno
import ssl
from collections.abc import Iterator

_WORDS = {
    errno.ECONNREFUSED: "the connection was refused; nothing listens there",
    errno.EHOSTUNREACH: "the host cannot be reached from here",
    errno.ENETUNREACH: "the host's network cannot be reached from here",
    errno.ECONNRESET: "the connection was cut by the other side",
    errno.EPIPE: "the connection was cut by the other side",
    errno.ETIMEDOUT: "nobody answered at the address",
}


def describe(error: BaseException) -> str:
    """One sentence without a full stop. Only the cause counts, not the layers that wrapped it."""
    chain = list(_causes(error))
    for cause in chain:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {str(cause.verify_message).rstrip('.')}"
        if isinstance(cause, ssl.SSLError):
            return f"no encrypted connection could be made ({cause.reason or 'TLS failed'})"
    for cause in chain:
        if isinstance(cause, OSError) and cause.errno in _WORDS:
            return _WORDS[cause.errno]
    names = {type(cause).__name__ for cause in chain}
    if "ConnectTimeout" in names:
        return "nobody answered at the address"
    if names & {"RemoteProtocolError", "LocalProtocolError"}:
        return "what came back is not a complete HTTP answer"
    if names & {"ReadError", "WriteError"}:
        return "the connection was cut by the other side"
    return "no connection could be made"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what caused it, and the errors of groups: two families of addresses can fail for two reasons."""
    todo: list[BaseException] = [error]
    seen: set[int] = set()
    while todo:
        found = todo.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        todo += [cause for cause in (found.__cause__, found.__context__) if cause is not None]
        todo += [inner for inner in found.args if isinstance(inner, BaseException)]
        if isinstance(found, BaseExceptionGroup):
            todo += found.exceptions
