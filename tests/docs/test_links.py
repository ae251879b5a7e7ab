"""Links between the pages lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, name_of, text_of

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# Files that are not part of the documentation's site are named by their address in the repository.
IN_REPOSITORY = re.compile(r"https://github\.com/workbell/workbell/(?:blob|tree|edit)/main/([^#?\s]+)")


def all_links(page: Path) -> list[str]:
    """What stands in code is none."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(page), flags=re.DOTALL)
    return LINK.findall(prose)


def links(page: Path) -> list[str]:
    """Links to our own pages."""
    return [link for link in all_links(page) if not re.match(r"[a-z]+:", link)]


def anchors(page: Path) -> set[str]:
    """The anchors that headings make: lower case, without punctuation, blanks as hyphens."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def resolves(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(ROOT) or not target.exists():
        return False
    return not anchor or anchor in anchors(target)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_resolve(page: Path) -> None:
    assert [link for link in links(page) if not resolves(page, link)] == []
    named = [found[1] for found in map(IN_REPOSITORY.fullmatch, all_links(page)) if found is not None]
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name_of)
def test_links_stay_within_the_site(page: Path) -> None:
    """A relative link out of `docs/` works in a checkout, and is dead on the site."""
    targets = {link: (page.parent / link.partition("#")[0]).resolve() for link in links(page)}
    assert [link for link, target in targets.items() if not target.is_relative_to(DOCS)] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = DOCS / "index.md"
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in links(index)} | {index}
    assert [name_of(page) for page in sorted(DOCS.rglob("*.md")) if page not in linked] == []
