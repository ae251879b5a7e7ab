"""Dead links of the built documentation: pages, pictures, scripts and anchors that are not there.

`python tools/check_site.py site docs` reads every HTML file of the built site. Links to other hosts are not followed: a
build must not depend on them. It also counts the diagrams: each `mermaid` block in `docs` has to arrive as one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

DIAGRAM = "mermaid"


class Link(NamedTuple):
    line: int
    target: str


class PageParser(HTMLParser):
    """Links, anchors and diagrams of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[Link] = []
        self.anchors: set[str] = set()
        self.diagrams = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.links += [Link(self.getpos()[0], values[name]) for name in ("href", "src") if name in values]
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        self.diagrams += tag == "pre" and DIAGRAM in values.get("class", "").split()


@cache
def read(page: Path) -> PageParser:
    parser = PageParser()
    parser.feed(page.read_text("utf-8"))
    return parser


def dead_links(site: Path) -> Iterator[str]:
    """A line for each link that leads nowhere."""
    for page in sorted(site.rglob("*.html")):
        for link in read(page).links:
            reason = fault(site, page, link.target)
            if reason is not None:
                yield f"{page.relative_to(site)}:{link.line}: {link.target}: {reason}"


def fault(site: Path, page: Path, target: str) -> str | None:
    """The reason why a link is dead; none if it works, or leads to another host."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    start = site if path.startswith("/") else page.parent
    file = (start / path.lstrip("/")).resolve() if path else page
    if file.is_dir():
        file /= "index.html"
    if not file.is_relative_to(site.resolve()) or not file.is_file():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and file.suffix == ".html" and anchor not in read(file).anchors:
        return "there is no such anchor"
    return None


def lost_diagrams(site: Path, docs: Path) -> Iterator[str]:
    """A line for each page that shows fewer diagrams than its source has."""
    for source in sorted(docs.rglob("*.md")):
        wanted = len(re.findall(rf"^```{DIAGRAM}$", source.read_text("utf-8"), re.MULTILINE))
        name = source.relative_to(docs).with_suffix("")
        page = site / ("index.html" if name == Path("index") else name / "index.html")
        if not page.is_file():
            yield f"{source.relative_to(docs)}: it is not part of the site"
        elif read(page).diagrams != wanted:
            yield f"{source.relative_to(docs)}: {wanted} diagrams, and {read(page).diagrams} of them on the page"


def main(arguments: Sequence[str]) -> int:
    site, docs = Path(arguments[0]).resolve(), Path(arguments[1]).resolve()
    pages = len(list(site.rglob("*.html")))
    if not pages:
        print(f"{site}: there are no pages; build them first", file=sys.stderr)
        return 1
    found = [*dead_links(site), *lost_diagrams(site, docs)]
    for line in found:
        print(line, file=sys.stderr)
    print(f"{pages} pages, {sum(len(read(page).links) for page in site.rglob('*.html'))} links, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
