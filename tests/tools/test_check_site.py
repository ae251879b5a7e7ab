"""The checker of the built site: links and anchors that are dead, and diagrams that were lost on the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, plain_environment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A site of two pages, and their sources."""
    for name in ("docs", "site/guide"):
        (tmp_path / name).mkdir(parents=True)
    write(tmp_path, "docs/index.md", "# Home\n")
    write(tmp_path, "docs/guide.md", "# Guide\n\n```mermaid\nflowchart LR\n    a --> b\n```\n")
    write(
        tmp_path, "site/index.html", '<a href="guide/#be%C3%9Fer">on</a> <a href="https://elsewhere.example/x">out</a>'
    )
    write(tmp_path, "site/guide/index.html", '<h2 id="beßer">x</h2><a href="..">up</a><pre class="mermaid">a</pre>')
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, "utf-8")


def check(folder: Path) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "tools" / "check_site.py"), "site", "docs"]
    done = subprocess.run(command, cwd=folder, env=plain_environment(), capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_site_in_order(folder: Path) -> None:
    assert check(folder) == (0, "")


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ('<a href="gone/">x</a>', "index.html:1: gone/: there is no such file"),
        ('<img src="/images/gone.png">', "index.html:1: /images/gone.png: there is no such file"),
        ('<p>\n<a href="guide/#gone">x</a>', "index.html:2: guide/#gone: there is no such anchor"),
        ('<a href="#gone">x</a>', "index.html:1: #gone: there is no such anchor"),
        ('<a href="../docs/index.md">x</a>', "index.html:1: ../docs/index.md: there is no such file"),
    ],
)
def test_a_dead_link_is_named(folder: Path, page: str, said: str) -> None:
    write(folder, "site/index.html", page)
    assert check(folder) == (1, f"{said}\n")


def test_a_diagram_that_became_code_is_named(folder: Path) -> None:
    write(folder, "site/guide/index.html", '<h2 id="beßer">x</h2><pre><code>flowchart LR</code></pre>')
    assert check(folder) == (1, "guide.md: 1 diagrams, and 0 of them on the page\n")


def test_a_page_that_is_missing_is_named(folder: Path) -> None:
    write(folder, "docs/new.md", "# New\n")
    assert check(folder) == (1, "new.md: it is not part of the site\n")


def test_an_empty_folder_is_no_site(tmp_path: Path) -> None:
    for name in ("docs", "site"):
        (tmp_path / name).mkdir()
    code, said = check(tmp_path)
    assert code == 1
    assert "there are no pages" in said
