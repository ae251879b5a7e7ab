"""Sending to real receivers over HTTP and HTTPS, allowed by the operator's list: what goes out, and what comes back."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import subprocess
import sys
import time

import pytest

from tests.support.certificates import Authority
from tests.support.dialled import Dialled
from tests.support.inside.features import AllowList, Sender
from tests.support.receiver import OK, Reader, Receiver, Writer, receiving
from workbell import EndpointRefused, InvalidOption, MissingPackage, SendFailed

pytestmark = pytest.mark.anyio

HERE = AllowList.parse(["127.0.0.1", "::1"])
NAME = "hooks.example.com"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def sender(*addresses: str, timeout: float = 20, tls: ssl.SSLContext | None = None) -> Sender:
    """One for which every name leads to the given addresses."""

    async def resolver(host: str, port: int) -> list[str]:
        return list(addresses or ["127.0.0.1"])

    return Sender(allow=HERE, resolver=resolver, timeout=timeout, tls=tls)


def url(receiver: Receiver, host: str = "127.0.0.1", scheme: str = "http", path: str = "/hook?a=b") -> str:
    return f"{scheme}://{host}:{receiver.port}{path}"


async def test_what_goes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    async with receiving() as receiver:
        answer = await sender().post(url(receiver), b'{"a": 1}', {"Content-Type": "application/json", "X-Token": "t"})
    (arrived,) = receiver.requests
    assert (answer.status, answer.body_start, answer.headers) == (200, "ok", {})
    assert answer.duration > 0
    assert (arrived.method, arrived.path, arrived.body) == ("POST", "/hook?a=b", b'{"a": 1}')
    assert dict(arrived.headers) == {
        "host": f"127.0.0.1:{receiver.port}",
        "accept-encoding": "identity",
        "connection": "close",
        "content-length": "8",
        "user-agent": "Workbell",
        "content-type": "application/json",
        "x-token": "t",
    }


async def test_the_name_is_kept_while_the_address_is_dialled(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Host header, SNI and the certificate go by the name of the URL."""
    dialled = Dialled(monkeypatch, through=("127.0.0.1",))
    async with receiving(tls=authority.serving(NAME)) as receiver:
        answer = await sender(tls=authority.trusting()).post(url(receiver, NAME, "https"), b"{}")
    assert answer.status == 200
    assert receiver.names == [NAME]
    assert receiver.requests[0].header("host") == f"{NAME}:{receiver.port}"
    assert dialled.addresses == ["127.0.0.1"]


async def test_international_names(authority: Authority) -> None:
    async with receiving(tls=authority.serving("xn--bcher-kva.example")) as receiver:
        answer = await sender(tls=authority.trusting()).post(url(receiver, "bücher.example", "https"), b"{}")
    assert answer.status == 200
    assert receiver.names == ["xn--bcher-kva.example"]


@pytest.mark.parametrize(
    ("names", "ended", "reason"),
    [
        (["other.example.com"], False, "Hostname mismatch"),
        (["127.0.0.1"], False, "Hostname mismatch"),  # the address that is dialled is not what was asked for
        ([NAME], True, "expired"),
    ],
)
async def test_a_wrong_certificate_is_not_accepted(
    names: list[str], ended: bool, reason: str, authority: Authority
) -> None:
    async with receiving(tls=authority.serving(*names, ended=ended)) as receiver:
        with pytest.raises(SendFailed, match=f"certificate is not accepted: .*{reason}"):
            await sender(tls=authority.trusting()).post(url(receiver, NAME, "https"), b"secret")
    assert receiver.requests == []


async def test_by_default_the_machine_s_authorities_are_trusted(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """So ours is not, unless the operator names it as for any other program."""
    from tests.support.inside.features import default_tls

    file = tmp_path_factory.mktemp("trusted") / "authority.pem"
    file.write_text(authority.pem)
    async with receiving(tls=authority.serving(NAME)) as receiver:
        with pytest.raises(SendFailed, match="certificate is not accepted"):
            await sender().post(url(receiver, NAME, "https"), b"{}")
        assert default_tls().verify_mode is ssl.CERT_REQUIRED
        assert default_tls().check_hostname
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        default_tls.cache_clear()
        try:
            assert (await sender().post(url(receiver, NAME, "https"), b"{}")).status == 200
        finally:
            default_tls.cache_clear()


async def test_an_address_in_the_url(authority: Authority) -> None:
    """The certificate must name it; no resolver is asked."""
    async with receiving(tls=authority.serving("127.0.0.1")) as receiver:
        answer = await sender("10.0.0.1", tls=authority.trusting()).post(url(receiver, scheme="https"), b"{}")
    assert answer.status == 200
    assert receiver.requests[0].header("host") == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dialled = Dialled(monkeypatch, through=("127.0.0.1",))
    for location in ("http://169.254.169.254/latest/meta-data/", "/again", "//10.0.0.1/"):
        reply = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
        async with receiving(reply) as receiver:
            answer = await sender().post(url(receiver), b"{}")
        assert answer.status == status
        assert receiver.connections == 1
    assert set(dialled.addresses) == {"127.0.0.1"}


async def test_the_next_address_is_tried() -> None:
    async with receiving() as receiver:
        answer = await sender("::1", "127.0.0.1").post(url(receiver, NAME), b"{}")
    assert answer.status == 200
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("status", [100, 199, 200, 204, 400, 404, 410, 429, 500, 503, 599])
async def test_any_status_is_an_answer(status: int) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" if status >= 200 else b""
    reply = early + f"HTTP/1.1 {status} Word\r\nRetry-After: 120\r\nSet-Cookie: a=b\r\n\r\n".encode()

    async def close(reader: Reader, writer: Writer) -> None:
        writer.write(reply)
        writer.close()

    async with receiving(close) as receiver:
        if status < 200:  # nothing final ever follows
            with pytest.raises(SendFailed, match="not a complete HTTP answer"):
                await sender().post(url(receiver), b"{}")
        else:
            answer = await sender().post(url(receiver), b"{}")
            assert (answer.status, answer.headers) == (status, {"retry-after": "120"})


async def test_the_first_kilobyte_of_a_long_answer() -> None:
    """No more than 64 KiB are read, and the connection is closed in the middle."""
    total = 0

    async def endless(reader: Reader, writer: Writer) -> None:
        nonlocal total
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            total += 65536

    async with receiving(endless) as receiver:
        answer = await sender().post(url(receiver), b"{}")
        await asyncio.wait_for(receiver.gone.wait(), 20)
    assert (answer.status, answer.body_start) == (200, "x" * 1024)
    assert total < 32 * 2**20  # what fits between two sockets, and not what an endless answer would bring


@pytest.mark.parametrize("line", [b"HTTP/1.1 102 Wait\r\n\r\n" * 1000, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000])
async def test_endless_heads(line: bytes) -> None:
    async def endless(reader: Reader, writer: Writer) -> None:
        while True:
            writer.write(line)
            await writer.drain()

    async with receiving(endless) as receiver:
        with pytest.raises(SendFailed, match="not a complete HTTP answer"):
            await sender().post(url(receiver), b"{}")
        await asyncio.wait_for(receiver.gone.wait(), 20)


async def test_compressed_answers_are_not_unpacked() -> None:
    packed = gzip.compress(b"0" * 10_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    async with receiving(head + packed) as receiver:
        answer = await sender().post(url(receiver), b"{}")
    assert answer.status == 200
    assert "000" not in answer.body_start
    assert len(answer.body_start) <= 1024


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("start", "drop", "encrypted"),
    [
        (b"", b"", False),
        (HEAD, b"X: x\r\n", False),
        (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x", False),
        (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x", True),
    ],
)
async def test_drops_of_an_answer_do_not_make_the_time_longer(
    start: bytes, drop: bytes, encrypted: bool, authority: Authority
) -> None:
    """Each byte comes within the time; all of them together do not."""

    async def drip(reader: Reader, writer: Writer) -> None:
        writer.write(start)
        closed = asyncio.ensure_future(reader.read())
        try:
            while not (await asyncio.wait([closed], timeout=0.02))[0]:
                writer.write(drop)
                await writer.drain()
        finally:
            await asyncio.gather(closed, return_exceptions=True)  # cut in the middle, it may have been reset

    tls = authority.serving(NAME) if encrypted else None
    async with receiving(drip, tls=tls) as receiver:
        quick = sender(timeout=1, tls=authority.trusting())
        with pytest.raises(SendFailed, match="no complete answer came within 1 s"):
            await quick.post(url(receiver, NAME, "https" if encrypted else "http"), b"{}")
        await asyncio.wait_for(receiver.gone.wait(), 20)  # and the connection is closed at once
    assert receiver.connections == 1


async def test_a_handshake_that_never_ends() -> None:
    closed = asyncio.Event()

    async def silent(reader: Reader, writer: Writer) -> None:
        await reader.read()
        closed.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(SendFailed, match="no complete answer"):
        await sender(timeout=1).post(f"https://{NAME}:{port}/", b"{}")
    await asyncio.wait_for(closed.wait(), 20)
    server.close()


async def test_a_name_that_is_never_resolved() -> None:
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(SendFailed, match=r"hooks\.example\.com/: .*within 0\.2 s"):
        await Sender(resolver=never, timeout=0.2).post(f"https://{NAME}/", b"{}")


async def test_names_without_an_address() -> None:
    async def nothing(host: str, port: int) -> list[str]:
        return []

    async def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(SendFailed, match="has no address"):
        await Sender(resolver=nothing).post(f"https://{NAME}/", b"{}")
    with pytest.raises(SendFailed, match="is not known"):
        await Sender(resolver=unknown).post(f"https://{NAME}/", b"{}")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"", "not a complete HTTP answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not a complete HTTP answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "not a complete HTTP answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not a complete HTTP answer"),
        (b"HTTP/9.9 abc\r\n\r\n", "not a complete HTTP answer"),
        (b"\x16\x03\x01\x00\x00", "not a complete HTTP answer"),
    ],
)
async def test_what_is_no_answer(reply: bytes, words: str) -> None:
    async def close(reader: Reader, writer: Writer) -> None:
        writer.write(reply)
        writer.close()

    async with receiving(close) as receiver:
        with pytest.raises(SendFailed, match=words):
            await sender().post(url(receiver), b"{}")


async def test_plain_http_where_tls_is_expected_and_the_reverse(authority: Authority) -> None:
    async with receiving(tls=authority.serving(NAME)) as receiver:
        with pytest.raises(SendFailed):
            await sender().post(url(receiver, NAME, "http"), b"{}")
    listener = await asyncio.start_server(lambda _, writer: writer.write(OK), "127.0.0.1", 0)
    with pytest.raises(SendFailed, match="no encrypted connection"):
        await sender().post(f"https://{NAME}:{listener.sockets[0].getsockname()[1]}/", b"{}")
    listener.close()


async def test_a_closed_port() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, so that nobody else can listen there; not listening, so that it refuses
        with pytest.raises(SendFailed, match=r"^http://127\.0\.0\.1:\d+/hook: the connection was refused"):
            await sender().post(f"http://127.0.0.1:{held.getsockname()[1]}/hook?token=secret", b"{}")


async def test_a_canceled_caller_leaves_no_connection() -> None:
    begun = asyncio.Event()

    async def wait(reader: Reader, writer: Writer) -> None:
        begun.set()

    async with receiving(wait) as receiver:
        sending = asyncio.create_task(sender().post(url(receiver), b"{}"))
        await asyncio.wait_for(begun.wait(), 20)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await asyncio.wait_for(receiver.gone.wait(), 20)


async def test_what_is_not_allowed_here_is_not_reached() -> None:
    async with receiving() as receiver:
        for refused in (url(receiver), url(receiver, NAME, "https"), url(receiver, "localhost", "https")):
            with pytest.raises(EndpointRefused):
                await Sender(resolver=sender()._resolver).post(refused, b"{}")
        with pytest.raises(InvalidOption, match="Host is set by Workbell"):
            await sender().post(url(receiver), b"{}", {"Host": "other"})
    assert receiver.connections == 0


async def test_many_at_once(authority: Authority) -> None:
    async with receiving(tls=authority.serving(NAME)) as receiver:
        sending = sender(tls=authority.trusting())
        posts = [sending.post(url(receiver, NAME, "https"), str(number).encode()) for number in range(20)]
        answers = await asyncio.gather(*posts)
    assert [answer.status for answer in answers] == [200] * 20
    assert sorted(int(arrived.body) for arrived in receiver.requests) == list(range(20))
    assert receiver.connections == 20


def test_nothing_of_it_is_loaded_before_it_is_used() -> None:
    heavy = "{'httpx2', 'httpcore2', 'cryptography', 'standardwebhooks'}"
    program = (
        "import sys, workbell, workbell.outgoing.send, workbell.webhooks.signature, workbell.trust.sealing\n"
        f"print(sorted({heavy} & {{name.split('.')[0] for name in sys.modules}}))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.strip() == "[]"


async def test_without_httpx2(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "httpcore2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "workbell.outgoing.wire", raising=False)
    monkeypatch.delattr("workbell.outgoing.wire", raising=False)
    monkeypatch.setitem(sys.modules, "httpcore2", None)
    with pytest.raises(MissingPackage, match=r"pip install 'workbell\[webhooks\]'"):
        await sender().post("https://1.1.1.1/", b"{}")


async def test_the_time_it_took() -> None:
    async with receiving() as receiver:
        before = time.monotonic()
        answer = await sender().post(url(receiver), b"{}")
        assert 0 < answer.duration <= time.monotonic() - before
