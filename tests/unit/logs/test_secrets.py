"""The password of a URL is hidden wherever one stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell import InvalidUrl, Workbell
from workbell.handlers.resources import Resources
from workbell.logs.secrets import url_without_secrets, without_secrets
from workbell.settings import Settings, safe_url


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:…@host/db"),
        ("postgresql://:secret@host", "postgresql://:…@host"),
        ("see redis://me:se/cr@et@host/0, or not", "see redis://me:…@host/0, or not"),
        ("host=a password=secret dbname=b", "host=a password=… dbname=b"),
        ("host=a PASSWORD='se cret' dbname=b", "host=a PASSWORD=… dbname=b"),
        ("postgresql://host/db?user=a&password=secret&x=1", "postgresql://host/db?user=a&password=…&x=1"),
        ("host=a sslpassword=secret dbname=b", "host=a sslpassword=… dbname=b"),
        ("postgresql://host/db?sslpassword=secret&x=1", "postgresql://host/db?sslpassword=…&x=1"),
        ("http://host:80/a and me@home", "http://host:80/a and me@home"),
        ('{"a":"http://host:80/","b":"me@home"}', '{"a":"http://host:80/","b":"me@home"}'),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("sqlite:///file.db", "sqlite:///file.db"),
        ("the password is wrong", "the password is wrong"),
    ],
)
def test_hidden(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:pg hush@host/db", "postgresql://me:…@host/db"),
        ('postgresql://me:it\'s "my" hush@host/db', "postgresql://me:…@host/db"),
        ("postgresql://me:pg\nhush@host/db", "postgresql://me:…@host/db"),
        ("postgresql://host/db?password=pg hush&x=1", "postgresql://host/db?password=…&x=1"),
        ("postgresql://host/db?sslpassword=pg hush&x=1", "postgresql://host/db?sslpassword=…&x=1"),
        ("host=a password='pg hush' dbname=b", "host=a password=… dbname=b"),
        ("sqlite:////home/me@work/my file.db", "sqlite:////home/me@work/my file.db"),
    ],
)
def test_blanks_in_the_password_of_a_url(url: str, shown: str) -> None:
    """They are wrong in a URL, and are written all the same."""
    assert url_without_secrets(url) == shown
    assert "hush" not in repr(Settings(url=url, queue_url=url, database=url))
    assert "hush" not in repr(Resources(database=url))
    assert "hush" not in safe_url(url)


@given(password=st.text(min_size=8, max_size=30).filter(lambda text: text not in "postgresql://me:…@host/db"))
def test_no_password_of_a_url_is_shown(password: str) -> None:
    assert password not in url_without_secrets(f"postgresql://me:{password}@host/db")


@pytest.mark.parametrize("url", ["host=h password='pg hush'", "me:pg hush@host/db", "password=hush host=h"])
def test_a_text_that_is_no_url_is_quoted_without_its_password(url: str) -> None:
    with pytest.raises(InvalidUrl, match="names no store") as caught:
        Workbell(url)
    assert "hush" not in str(caught.value)


def test_a_url_that_cannot_be_split() -> None:
    with pytest.raises(InvalidUrl, match="cannot be read") as caught:
        Workbell("postgresql://me:hush@[::1/db")
    assert "hush" not in str(caught.value)
