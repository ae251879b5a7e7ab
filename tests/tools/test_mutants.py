"""The table of mutations fits the code, and sampled ones change one thing each."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.docs.pages import ROOT
from tests.support.waiting import until
from tools.mutants import AREAS, FIRST, SOURCES, TABLE, Checkout, Mutation, mutated, nearest, sample, sites

SNIPPET = """
def may(run: Run) -> bool:
    if run is None:
        raise ValueError("—")
    for _ in range(3):
        log.info("not removed")
        run.note()
    return run.is_free and run.left > 0.5
"""


@pytest.mark.parametrize("mutation", TABLE, ids=lambda mutation: mutation.name)
def test_the_table_fits_the_code(mutation: Mutation) -> None:
    text = (ROOT / SOURCES / mutation.file).read_text()
    new = mutated(text, mutation)
    assert new != text
    if mutation.file.endswith(".py"):
        ast.parse(new)
    for test in mutation.tests.split():
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        function = name.rpartition("::")[2].partition("[")[0]
        texts = [(ROOT / path).read_text()] if (ROOT / path).is_file() else []
        if "contracts" in path:
            texts += [file.read_text() for file in (ROOT / SOURCES / "testing/contracts").rglob("*.py")]
        assert not function or any(f"{kind} {function}" in text for text in texts for kind in ("def", "class")), test


def test_names_are_used_once() -> None:
    assert Counter(mutation.name for mutation in TABLE).most_common(1)[0][1] == 1


@pytest.mark.parametrize("old", ["nowhere in the file", "def "])
def test_a_text_that_is_not_there_once_is_refused(old: str) -> None:
    with pytest.raises(SystemExit, match=r"Z9: engine/duty\.py has the text .* times, not once"):
        mutated("def a(): ...\ndef b(): ...\n", Mutation("Z9", "engine/duty.py", old, "", "", ""))


def test_what_can_be_mutated() -> None:
    found = [(SNIPPET[site.start : site.end], site.new, site.what) for site in sites(SNIPPET)]
    assert sorted(found) == sorted(
        [
            ("run is None", "(run is not None)", "comparison flipped"),
            ("run is None", "False", "guard dropped"),
            ("3", "4", "constant + 1"),
            ("3", "(2)", "constant - 1"),
            ("run.note()", "None", "call removed"),
            ("run.is_free and run.left > 0.5", "((run.is_free) or (run.left > 0.5))", "and/or swapped"),
            ("run.is_free and run.left > 0.5", "(not (run.is_free and run.left > 0.5))", "return value negated"),
            ("run.left > 0.5", "(run.left >= 0.5)", "comparison flipped"),
            ("0.5", "1.5", "constant + 1"),
            ("0.5", "(-0.5)", "constant - 1"),
        ]
    )


def test_a_sample_is_the_same_each_time() -> None:
    drawn = sample(AREAS["queues"], 3, 7)
    assert drawn == sample(AREAS["queues"], 3, 7)
    for mutation in drawn:
        ast.parse(mutated((ROOT / SOURCES / mutation.file).read_text(), mutation))


def test_tests_of_a_module_come_first() -> None:
    listed = nearest(ROOT / SOURCES / "engine/dispatch.py", AREAS["engine"].tests)
    assert listed[0] == "tests/engine/test_dispatch.py"


def test_files_are_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mutation, *_) = TABLE
    seen: list[str] = []
    checkout = Checkout.__new__(Checkout)
    checkout.folder = tmp_path
    file = tmp_path / SOURCES / mutation.file
    file.parent.mkdir(parents=True)
    text = (ROOT / SOURCES / mutation.file).read_text()
    file.write_text(text)
    answers = [("killed", ["x"]), ("survived", [""]), ("killed", ["x"]), ("killed", ["x"])]

    def run(_arguments: object) -> tuple[str, list[str]]:
        seen.append(file.read_text())
        return answers[len(seen) - 1]

    monkeypatch.setattr(checkout, "_run", run)
    assert checkout.test([mutation], [["t"]], []) == ("killed", "x")
    assert (seen, file.read_text()) == ([mutated(text, mutation), text], text)
    assert checkout.test([mutation], [["t"]], []) == ("no verdict", "x fails without the mutation too")


def test_the_rest_runs_if_the_first_tests_notice_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation = sample(AREAS["engine"], 1, 7)[0]
    assert (len(mutation.tests.split()), bool(mutation.rest)) == (FIRST, True)
    checkout = Checkout.__new__(Checkout)
    checkout.folder = tmp_path
    file = tmp_path / SOURCES / mutation.file
    file.parent.mkdir(parents=True)
    file.write_text(mutation.old)
    asked: list[object] = []
    good = ("survived", ["1 passed"])
    answers = iter([good, ("killed", ["x"]), good, ("killed", ["y"]), good])

    def run(arguments: object) -> tuple[str, list[str]]:
        asked.append(arguments)
        return next(answers)

    monkeypatch.setattr(checkout, "_run", run)
    assert checkout.test([mutation], [["first"], ["rest"]], ["-v"]) == ("killed", "x")
    assert asked == [["first", "-v"], ["rest", "-v"], ["x", "-v"]]
    assert checkout.test([mutation], [["first"], ["rest"]], []) == ("killed", "y")
    assert asked[3:] == [["first"], ["y"]]


HANGING = """
import os, subprocess, sys
from pathlib import Path

def test_it():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(os.environ["PIDS"] + ".new").write_text(f"{os.getpid()} {child.pid}")
    os.rename(os.environ["PIDS"] + ".new", os.environ["PIDS"])
    child.wait()
"""


def test_mutations_together_are_told_apart_by_their_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = ["t/a.py", "t/b.py::T", "t/c.py::test", "t/d.py", "t/e"]
    mutations = [
        Mutation(name, f"{name}.py", "old", "new", test, "") for name, test in zip("abcde", tests, strict=True)
    ]
    checkout = Checkout.__new__(Checkout)
    checkout.folder = tmp_path
    (tmp_path / SOURCES).mkdir(parents=True)
    files = [tmp_path / SOURCES / mutation.file for mutation in mutations]
    for file in files:
        file.write_text("old")
    asked: list[list[str]] = []
    failed = ["t/a.py::x", "t/b.py::Two::x", "t/c.py::test[1]", "t/c.py::test[2]", "t/d.py", "t/e/f.py::x"]
    answers = iter([("killed", failed), ("killed", ["t/d.py"])])

    def run(arguments: list[str], _deadline: float) -> tuple[str, list[str]]:
        asked.append(arguments)
        assert {file.read_text() for file in files} == {"new" if len(asked) == 1 else "old"}
        return next(answers)

    monkeypatch.setattr(checkout, "_run", run)
    assert checkout.test_together(mutations, ["-v"]) == {
        "a": ("killed", "t/a.py::x"),
        "b": ("survived", "among the others"),
        "c": ("killed", "t/c.py::test[1]"),
        "d": ("no verdict", "t/d.py fails without the mutations too"),
        "e": ("killed", "t/e/f.py::x"),
    }
    assert asked[0] == [*tests, "-v", "--maxfail=0"]
    assert asked[1] == ["t/a.py::x", "t/c.py::test[1]", "t/d.py", "t/e/f.py::x", "-v", "--maxfail=0"]


ONE = [sys.executable, "tools/mutants.py", "--sample", "1", "--area", "queues"]


def checkout(tmp_path: Path, tests: dict[str, str]) -> Path:
    """One module with one place to mutate, and its tests."""
    files = {
        "tools/mutants.py": (ROOT / "tools/mutants.py").read_text(),
        "src/workbell/__init__.py": "",
        "src/workbell/queues/__init__.py": "",
        "src/workbell/queues/it.py": "IT = 1\n",
    }
    for name, text in (files | {f"tests/unit/queues/{name}": text for name, text in tests.items()}).items():
        file = tmp_path / "checkout" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path / "checkout", check=True)
    return tmp_path / "checkout"


NOTICES = "from workbell.queues.it import IT\nassert IT == 1\n"


@pytest.mark.parametrize(
    ("tests", "code", "said"),
    [
        ({"test_it.py": "def test_it(): ..."}, 1, "survived   S1 "),
        ({"test_it.py": "def test_it():\n    from workbell.queues.it import IT\n    assert IT == 1"}, 0, "::test_it ("),
        ({"test_it.py": f"{NOTICES}def test_it(): ..."}, 0, "killed     S1 "),
        ({"test_it.py": "def test_it(): ...", "conftest.py": NOTICES}, 0, "killed     S1 "),
        ({"test_it.py": "def test_it():\n    raise ValueError"}, 1, "fails without the mutation too"),
    ],
    ids=["nobody", "a test", "an import", "conftest", "always"],
)
def test_who_notices(tests: dict[str, str], code: int, said: str, tmp_path: Path) -> None:
    settings = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        ONE, cwd=checkout(tmp_path, tests), env=os.environ | settings, capture_output=True, text=True, timeout=60
    )
    assert said in done.stdout, done.stdout + done.stderr
    assert done.returncode == code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_one_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    """Neither the tests nor what they have started nor the copy of the checkout."""
    folder = checkout(tmp_path, {"test_it.py": HANGING})
    copies, pids = tmp_path / "copies", tmp_path / "pids"
    copies.mkdir()
    settings = {"TMPDIR": str(copies), "PIDS": str(pids), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    hears = partial(signal.signal, number, signal.SIG_DFL)  # also where the tests run under nohup
    with subprocess.Popen(ONE, cwd=folder, env=os.environ | settings, preexec_fn=hears) as mutants:
        try:
            until(lambda: pids.exists() or mutants.poll() is not None, "the test")
            assert [folder.name for folder in copies.glob("mutants-*")]
            mutants.send_signal(number)
            assert mutants.wait(30) == 128 + number
        finally:
            mutants.kill()
    assert list(copies.glob("mutants-*")) == []
    for pid in pids.read_text().split():
        until(lambda pid=pid: not psutil.pid_exists(int(pid)), f"the end of {pid}")  # type: ignore[misc]
