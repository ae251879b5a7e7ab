"""The site of the documentation: each page is in its navigation once. `make docs` builds it and follows its links."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, ROOT, text_of

ENTRY = re.compile(r"^ +- [^:\n]+: (\S+\.md)$", re.MULTILINE)


def test_each_page_is_in_the_navigation_once() -> None:
    entries = ENTRY.findall(text_of(ROOT / "mkdocs.yml"))
    assert sorted(entries) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
