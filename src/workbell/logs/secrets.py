"""Secrets in texts that are shown or logged: the password of a URL, wherever one stands."""

from __future__ import annotations

import re

# Passwords with a slash or an at sign in them are wrong in a URL, and are written all the same: up to the last at sign
# of the word is hidden. The bounds keep the search quick in any text.
_IN_URL = re.compile(r"(?<=://)([^\s/@:\"']{0,200}):[^\s\"']{0,500}@")
_AS_OPTION = re.compile(r"(?i)\b((?:ssl)?password\s?=\s?)('[^']*'|[^&\s'\"]+)")
_IN_WHOLE_URL = re.compile(r"(?<=://)([^/@:]*):.*@", re.DOTALL)
_AS_PARAMETER = re.compile(r"(?i)(\b(?:ssl)?password\s*=)[^&]+")


def without_secrets(text: str) -> str:
    """`postgresql://me:secret@host/db` becomes `postgresql://me:…@host/db`."""
    if "://" in text:
        text = _IN_URL.sub(r"\1:…@", text)
    if "assword" in text or "ASSWORD" in text:
        text = _AS_OPTION.sub(r"\1…", text)
    return text


def url_without_secrets(url: str) -> str:
    """The same for a text that is one URL: blanks and quotes in its password are hidden with it."""
    if "://" not in url:
        return without_secrets(url)
    return _AS_PARAMETER.sub(r"\1…", _IN_WHOLE_URL.sub(r"\1:…@", url))


def without_quotes(message: str) -> str:
    """A driver's message about a URL without the part that it quotes, which may be the password."""
    return re.sub('".*"', "a part of it", message, flags=re.DOTALL)
