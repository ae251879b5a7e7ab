"""Which Host and Origin may ask (S2, S8): pages of other sites, and names that were made to point here."""

from __future__ import annotations

import pytest

from workbell.errors import SettingsError
from workbell.http.binding import bind, check_open, url_from_here
from workbell.http.policies.origins import allowed_hosts, host_is_allowed, origin_is_allowed
from workbell.model.public_url import read_public_url
from workbell.settings import Settings

HERE = allowed_hosts("127.0.0.1", ())


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost", "LOCALHOST:1", "[::1]:8321"])
def test_this_machine_is_answered_by_its_own_names(host: str) -> None:
    assert host_is_allowed(host, HERE)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "", None, "[::2]:1"])
def test_a_name_that_points_here_is_not_answered(host: str | None) -> None:
    assert not host_is_allowed(host, HERE)


def test_on_a_public_address_only_the_named_hosts_are_answered_if_any_are() -> None:
    assert allowed_hosts("0.0.0.0", ()) == ()
    assert host_is_allowed("jobs.example", allowed_hosts("0.0.0.0", ()))
    named = allowed_hosts("0.0.0.0", ("jobs.example",))
    assert host_is_allowed("jobs.example:443", named)
    assert not host_is_allowed("other.example", named)


@pytest.mark.parametrize("origin", [None, "http://127.0.0.1:8321"])
def test_the_own_page_and_programs_may_send(origin: str | None) -> None:
    assert origin_is_allowed(origin, "127.0.0.1:8321", HERE)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:9999", "http://localhost:8321", "null", "file://", "http://"]
)
def test_another_page_may_not(origin: str) -> None:
    """Also not one of another program on this machine: it has another port."""
    assert not origin_is_allowed(origin, "127.0.0.1:8321", HERE)


def test_with_a_public_url_its_pages_are_the_own_ones() -> None:
    """Whatever Host the proxy passes on; by scheme and port too, although the name is on the list of hosts."""
    public = read_public_url("https://jobs.example.com")
    for hosts in (allowed_hosts("127.0.0.1", (), public), allowed_hosts("0.0.0.0", ("jobs.example.com",), public)):
        assert host_is_allowed("jobs.example.com", hosts)
        for host in ("jobs.example.com", "127.0.0.1:8321"):
            assert origin_is_allowed("https://jobs.example.com", host, hosts, public)
            assert origin_is_allowed(None, host, hosts, public)
            for foreign in ("http://jobs.example.com", "https://jobs.example.com:444", f"http://{host}", "null"):
                assert not origin_is_allowed(foreign, host, hosts, public)
    assert allowed_hosts("0.0.0.0", (), public) == ()  # any, as without one: agents may come by another name


@pytest.mark.parametrize(
    ("entry", "origin", "may"),
    [
        # A name alone: the ports of its scheme, and the port that the request asks for.
        ("desk.example", "https://desk.example", True),
        ("Desk.Example", "http://desk.example", True),
        ("desk.example", "http://desk.example:8321", True),
        ("desk.example", "https://desk.example:8321", True),
        ("desk.example", "https://desk.example:8443", False),
        ("desk.example", "http://desk.example:3000", False),
        ("desk.example", "https://desk.example.evil", False),
        ("desk.example", "https://desk.example:x", False),
        # With a port: that port. With a scheme: that origin.
        ("desk.example:8443", "https://desk.example:8443", True),
        ("desk.example:8443", "http://desk.example:8443", True),
        ("desk.example:8443", "https://desk.example", False),
        ("desk.example:8443", "http://desk.example:8321", False),
        ("https://desk.example", "https://desk.example", True),
        ("https://desk.example/", "https://desk.example", True),
        ("https://desk.example", "http://desk.example", False),
        ("https://desk.example", "https://desk.example:8321", False),
        ("http://desk.example:3000", "http://desk.example:3000", True),
        ("http://desk.example:3000", "https://desk.example:3000", False),
        # Names of this machine: every program on it has them, so the port must be said.
        ("localhost", "http://localhost", False),
        ("localhost", "http://localhost:8321", False),
        ("http://localhost:5173", "http://localhost:5173", True),
        ("[::1]:5173", "http://[::1]:5173", True),
    ],
)
def test_which_pages_of_a_named_host_may(entry: str, origin: str, may: bool) -> None:
    assert origin_is_allowed(origin, "jobs.example:8321", allowed_hosts("0.0.0.0", ("jobs.example", entry))) is may


def test_beside_a_public_url_with_https_a_name_alone_is_for_https() -> None:
    public = read_public_url("https://jobs.example")
    hosts = allowed_hosts("0.0.0.0", ("desk.example", "http://old.example"), public)
    assert origin_is_allowed("https://desk.example", "jobs.example", hosts, public)
    assert origin_is_allowed("http://old.example", "jobs.example", hosts, public)
    assert not origin_is_allowed("http://desk.example", "jobs.example", hosts, public)


def test_a_host_is_answered_at_any_port() -> None:
    """A name that was made to lead here is another name; and a proxy may ask by its own port."""
    hosts = allowed_hosts("0.0.0.0", ("https://desk.example:8443", "jobs.example:1"))
    assert host_is_allowed("desk.example", hosts)
    assert host_is_allowed("JOBS.example:8321", hosts)
    assert not host_is_allowed("other.example:1", hosts)


@pytest.mark.parametrize(
    "entry",
    ["*", "*.example", "", " ", "a b", "ftp://a.example", "a.example/x", "https://u:p@a.example", "a:b", "ü.de"],
)
def test_an_entry_that_no_browser_sends_is_refused(entry: str) -> None:
    with pytest.raises(SettingsError, match=r"http_hosts: .*; write it as jobs\.example"):
        allowed_hosts("0.0.0.0", (entry,))


@pytest.mark.parametrize(("host", "local"), [("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("::", False)])
def test_an_open_door_is_for_this_machine_alone(host: str, local: bool) -> None:
    """Without tokens a public address is refused, before anything listens there."""
    settings = Settings(http_auth="none", http_host=host)
    if local:
        check_open(settings, host)
    else:
        with pytest.raises(SettingsError, match="lets everybody in"):
            bind(settings)


@pytest.mark.parametrize("public", ["https://jobs.example.com", "http://192.0.2.1"])
def test_an_open_door_has_no_public_url(public: str) -> None:
    with pytest.raises(SettingsError, match=r"http_public_url = .* lets everybody in; use tokens"):
        bind(Settings(http_auth="none", http_public_url=public))
    check_open(Settings(http_public_url=public), "127.0.0.1")


@pytest.mark.parametrize("public", ["http://localhost:8080", "https://127.0.0.1", "http://[::1]:8321"])
def test_an_open_door_may_have_another_name_of_this_machine(public: str) -> None:
    check_open(Settings(http_auth="none", http_public_url=public), "127.0.0.1")


def test_the_default_asks_for_a_token_and_listens_here_alone() -> None:
    assert (Settings().http_auth, Settings().http_host) == ("token", "127.0.0.1")


def test_a_port_that_is_named_is_not_exchanged_for_another() -> None:
    with bind(Settings(http_port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"port {port}: .* choose another with --port"):
            bind(Settings(http_port=port))


def test_without_a_port_the_next_free_one_is_taken() -> None:
    with bind(Settings()) as first, bind(Settings()) as second:
        assert first.getsockname()[1] != second.getsockname()[1]
    assert url_from_here("0.0.0.0", 80) == "http://127.0.0.1:80"
    assert url_from_here("::1", 80) == "http://[::1]:80"


def test_an_address_of_this_machine_that_is_listened_at_is_answered() -> None:
    assert host_is_allowed("127.0.0.2:8321", allowed_hosts("127.0.0.2", ()))
    assert not host_is_allowed("127.0.0.3", allowed_hosts("127.0.0.2", ()))


def test_an_address_in_the_list_is_exact_also_for_the_host_that_is_asked_for() -> None:
    named = allowed_hosts("0.0.0.0", ("https://jobs.example",))
    assert origin_is_allowed("https://jobs.example", "jobs.example", named)
    assert not origin_is_allowed("http://jobs.example", "jobs.example", named)
    assert not origin_is_allowed("http://jobs.example", "JOBS.example", named)
    assert not origin_is_allowed("https://jobs.example:8443", "jobs.example:8443", named)
    assert origin_is_allowed("http://desk.example", "desk.example", ())
    both = allowed_hosts("0.0.0.0", ("https://jobs.example", "jobs.example"))
    assert origin_is_allowed("http://jobs.example", "jobs.example", both)
    here = allowed_hosts("0.0.0.0", ("http://localhost:5173",))
    assert origin_is_allowed("http://localhost:8321", "localhost:8321", here)
