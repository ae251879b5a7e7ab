"""The password of a URL is hidden wherever one stands."""

from __future__ import annotations

import pytest

from workbell.logs.secrets import without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:…@host/db"),
        ("postgresql://:secret@host", "postgresql://:…@host"),
        ("see redis://me:se/cr@et@host/0, or not", "see redis://me:…@host/0, or not"),
        ("host=a password=secret dbname=b", "host=a password=… dbname=b"),
        ("host=a PASSWORD='se cret' dbname=b", "host=a PASSWORD=… dbname=b"),
        ("postgresql://host/db?user=a&password=secret&x=1", "postgresql://host/db?user=a&password=…&x=1"),
        ("http://host:80/a and me@home", "http://host:80/a and me@home"),
        ('{"a":"http://host:80/","b":"me@home"}', '{"a":"http://host:80/","b":"me@home"}'),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("sqlite:///file.db", "sqlite:///file.db"),
        ("the password is wrong", "the password is wrong"),
    ],
)
def test_hidden(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
