"""Finding the app: `module:attribute`, and what is said when it is not there or does not work."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.command_line import assert_refused, call
from tests.support.inside.features import load_app
from workbell import JobsError, SettingsError, WorkbellError

_numbers = itertools.count()

GOOD = "from workbell import Workbell\nbell = Workbell('memory://')\nother = 3\n"


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Writes a module and gives its name; afterwards it is as if it had never been imported."""
    path, modules = list(sys.path), set(sys.modules)

    def write(text: str) -> str:
        name = f"app_of_a_test_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    yield write
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("app_of_a_test_"):
            del sys.modules[name]


def test_found(module: Callable[[str], str], tmp_path: Path) -> None:
    assert load_app(f"{module(GOOD)}:bell", tmp_path).settings.url == "memory://"


@pytest.mark.parametrize("app", ["shop", "shop:", ":bell", ""])
def test_not_readable(app: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r'write app = "module:attribute" in workbell\.toml'):
        load_app(app, tmp_path)


@pytest.mark.parametrize("app", ["no_such_module_here:bell", "no_such_package_here.below:bell"])
def test_no_such_module(app: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"there is no module 'no_such_.*' in .*shop:bell"):
        load_app(app, tmp_path)


def test_no_such_attribute(module: Callable[[str], str], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"has no 'bel'; it has a Workbell named 'bell'"):
        load_app(f"{module(GOOD)}:bel", tmp_path)


def test_not_a_workbell(module: Callable[[str], str], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"is a int and not a Workbell; it has a Workbell named 'bell'"):
        load_app(f"{module(GOOD)}:other", tmp_path)
    with pytest.raises(SettingsError, match=r"makes no Workbell at all"):
        load_app(f"{module('x = 1')}:x", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n1 / 0\n", r"\.py:3: ZeroDivisionError: division by zero"),
        ("raise OSError('a\\nb') from KeyError(7)\n", r"\.py:1: OSError: a b, caused by KeyError: 7 \(while"),
        ("x = 1\ndef f(:\n", r"\.py:2: SyntaxError: "),
        ("import no_such_library\n", r"\.py:1: ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise SystemExit(3)\n", r"\.py:1: SystemExit: 3"),
        ("from workbell import Workbell\nWorkbell('nonsense://')\n", r"\.py:2: 'nonsense' names no store"),
    ],
)
def test_error_inside_the_module(text: str, message: str, module: Callable[[str], str], tmp_path: Path) -> None:
    """The file, the line and the message of the application's own code."""
    with pytest.raises(WorkbellError, match=message) as caught:
        load_app(f"{module(text)}:bell", tmp_path)
    assert caught.value.exit_code == 78


def test_error_inside_what_the_module_imports(module: Callable[[str], str], tmp_path: Path) -> None:
    broken = module("x = 1\nraise ValueError('no good')\n")
    with pytest.raises(JobsError, match=rf"{broken}\.py:2: ValueError: no good"):
        load_app(f"{module(f'import {broken}')}:bell", tmp_path)


@pytest.mark.parametrize("name", ["dev", "start", "dispatch", "consume"])
def test_where_there_is_nothing(name: str, tmp_path: Path) -> None:
    """Neither a project nor an app nor a folder of jobs: without a terminal nobody is asked."""
    assert_refused(call(tmp_path, name), 78, "nothing to run", "workbell.toml", "jobs/", "--app", "`workbell init`")
    assert not list(tmp_path.iterdir())


def test_dev_with_a_broken_app(tmp_path: Path) -> None:
    (tmp_path / "workbell.toml").write_text('app = "shop:bell"\n')
    (tmp_path / "shop.py").write_text("import workbell\nbell = workbell.Nonsense()\n")
    assert_refused(call(tmp_path, "dev"), 78, "shop.py:2: AttributeError", "Nonsense")


def test_dev_with_a_url_that_the_app_overrules(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("from workbell import Workbell\nbell = Workbell('sqlite:///own.db')\n")
    answer = call(tmp_path, "dev", "--app", "shop:bell", "--url", "sqlite:///other.db")
    assert_refused(answer, 78, "--url", "own.db")


def test_dev_with_an_unknown_first_job(tmp_path: Path) -> None:
    text = "from workbell import Workbell\nbell = Workbell()\n@bell.job\ndef greet() -> None: ...\n"
    (tmp_path / "shop.py").write_text(text)
    assert_refused(call(tmp_path, "dev", "--app", "shop:bell", "--start", "great"), 4, "'great'", "greet")
