"""Headers by name: the same answers as Starlette's, which reads the list each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from workbell.http.framework.call import header_of, request_headers

NAMES = st.sampled_from([b"host", b"authorization", b"idempotency-key", b"content-type"])
SENT = st.lists(st.tuples(NAMES, st.binary(max_size=5)), max_size=8)


@given(SENT)
def test_they_are_as_starlette_reads_them(sent: list[tuple[bytes, bytes]]) -> None:
    scope = {"headers": sent}
    for name in (b"host", b"authorization", b"idempotency-key", b"content-type", b"cookie"):
        assert header_of(scope, name) == Headers(raw=sent).get(name.decode())
        assert (name in request_headers(scope)) == (name in dict(sent))


def test_they_are_read_once() -> None:
    scope = {"headers": [(b"host", b"a")]}
    assert request_headers(scope) is request_headers(scope)
