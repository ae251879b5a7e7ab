"""The wheel and the sdist: what is in them, what is not, and what the package index shows of them."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import EmailPolicy
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from trove_classifiers import classifiers

from hatch_build import DashboardBundle
from workbell.http.dashboard.assets import assets
from workbell.http.dashboard.bundle import SCRIPT, STYLE
from workbell.version import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "workbell"
STATIC = "workbell/http/dashboard/static"
VENDORED = f"{STATIC}/vendor"
REPOSITORY = "https://github.com/workbell/workbell"
LICENCES = ["LICENSE", *(f"src/{VENDORED}/LICENSE-{name}.txt" for name in ("htm", "preact", "uplot"))]
# Types of the dashboard's JavaScript, and how its checker is set up: for the repository alone.
OURS_ALONE = re.compile(r"\.d\.ts$|/jsconfig\.json$")
# Beside the bundle, a wheel has these of the dashboard's files.
SINGLE = {f"{STATIC}/{name}" for name in ("bell.svg", "screens.js", "theme.js")}
BUNDLES = {f"{STATIC}/{name}" for name in (SCRIPT, STYLE)}


def build(source: Path, target: str, out: Path) -> Path:
    """Build with what is installed: nothing is fetched."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return contents(build(ROOT, "wheel", tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist()}


def metadata(wheel: dict[str, bytes]) -> EmailMessage:
    parser = BytesParser(policy=EmailPolicy(utf8=True))
    return parser.parsebytes(wheel[f"workbell-{__version__}.dist-info/METADATA"])  # type: ignore[return-value]


def package_files() -> set[str]:
    """Files below `src/`, without what Python and tests leave there."""
    found = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(SOURCE.parent).as_posix() for path in found}


def test_the_wheel_has_each_file_of_the_package_and_nothing_else(wheel: dict[str, bytes]) -> None:
    packaged = {name for name in wheel if ".dist-info/" not in name}
    ours = {name for name in package_files() if not OURS_ALONE.search(name)}
    assert packaged == {name for name in ours if not name.startswith(f"{STATIC}/")} | SINGLE | BUNDLES


def test_the_wheel_has_the_bundle_that_a_checkout_serves(wheel: dict[str, bytes]) -> None:
    known = assets().by_path
    assert {name: wheel[name] for name in BUNDLES} == {name: known[Path(name).name].content for name in BUNDLES}
    assert b"$module" in wheel[f"{STATIC}/{SCRIPT}"]


def test_an_editable_installation_has_no_bundle(tmp_path: Path) -> None:
    """It would lie beside the sources, and hide every change of them."""
    made: dict[str, Any] = {"force_include": {}}
    hook = DashboardBundle(str(ROOT), {}, None, None, str(tmp_path), "wheel")
    hook.initialize("editable", made)
    assert made == {"force_include": {}}
    hook.initialize("standard", made)
    assert set(made["force_include"].values()) == BUNDLES
    hook.finalize("standard", made, "")
    assert not any(Path(path).exists() for path in made["force_include"])


def test_the_wheel_has_sql_dashboard_types_and_no_tests(wheel: dict[str, bytes]) -> None:
    endings = {PurePosixPath(name).suffix for name in wheel}
    assert {".sql", ".js", ".css", ".svg"} <= endings
    assert {"workbell/py.typed", "workbell/stores/d1/bridge/worker.mjs"} <= wheel.keys()
    assert [name for name in wheel if re.search(r"(^|/)(tests?|__pycache__)/|\.pyc$|\.db", name)] == []
    assert {name.partition("/")[0] for name in wheel} == {"workbell", f"workbell-{__version__}.dist-info"}


def test_licences_of_ours_and_of_the_libraries_in_the_dashboard(wheel: dict[str, bytes]) -> None:
    """PEP 639: an expression for all that is in the wheel, and the texts beside it."""
    facts = metadata(wheel)
    assert facts["License-Expression"] == "MIT AND Apache-2.0"
    assert facts.get_all("License-File") == LICENCES
    for name in LICENCES:
        assert wheel[f"workbell-{__version__}.dist-info/licenses/{name}"] == (ROOT / name).read_bytes()
    stated = re.findall(r"^\| `.*?\| ([\w. ]+) \| [^|]+\|$", (SOURCE.parent / VENDORED / "README.md").read_text(), re.M)
    assert {text.strip() for text in stated} == {"MIT", "Apache 2.0"}, "a library with another licence"


def test_metadata_is_as_the_index_wants_it(wheel: dict[str, bytes]) -> None:
    facts = metadata(wheel)
    named = facts.get_all("Classifier")
    assert named
    assert [name for name in named if name not in classifiers] == []
    assert not [name for name in named if name.startswith("License ::")], "an index refuses it beside an expression"
    urls = dict(url.split(", ", 1) for url in facts.get_all("Project-URL") or [])
    assert urls.keys() == {"Homepage", "Documentation", "Source", "Changelog", "Issues"}
    assert all(url.startswith(REPOSITORY) for url in urls.values())


def test_the_extra_all_is_each_extra_of_users(wheel: dict[str, bytes]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    (every,) = extras["all"]
    assert every == f"workbell[{','.join(sorted(extras.keys() - {'all', 'dev'}))}]"
    assert set(metadata(wheel).get_all("Provides-Extra") or []) == extras.keys()


def test_the_description_has_no_link_that_an_index_cannot_follow(wheel: dict[str, bytes]) -> None:
    """Links in the README are relative, for the repository; on the index they name this version in it."""
    text = metadata(wheel).get_content()
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    assert len(links) > 50
    assert [link for link in links if not re.match(r"https?://", link)] == []
    named = [link.removeprefix(f"{REPOSITORY}/") for link in links if link.startswith(REPOSITORY)]
    found = [re.fullmatch(rf"(?:blob|raw)/v{re.escape(__version__)}/([^#]+)(?:#.*)?", link) for link in named]
    assert all(one is not None and (ROOT / one[1]).exists() for one in found), named
    assert [link for link in links if link.endswith(".png") and "/raw/" not in link] == [], "a page, not a picture"
    assert "mermaid" not in text


def test_the_sdist_builds_the_same_wheel(wheel: dict[str, bytes], sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as file:
        file.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    names = {path.name for path in source.iterdir()}
    own = {"CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "docs", "hatch_build.py", "pyproject.toml", "src"}
    assert names == own | {"PKG-INFO", ".gitignore"}
    assert contents(build(source, "wheel", tmp_path / "dist")) == wheel
