"""The guard and the marker, in the test run of an application."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.run_pytest import run_pytest

SHOP = """
import threading

from workbell import Workbell

bell = Workbell("sqlite:///shop.db")
acme = bell.for_tenant("acme")
elsewhere = Workbell("postgresql://me:secret@db.example.com/shop")


@bell.job
def charge(order: int = 1) -> int:
    return order


def checkout():
    try:
        charge.enqueue()
    except Exception:
        pass  # orders matter more


def in_a_thread():
    thread = threading.Thread(target=charge.enqueue)
    thread.start()
    thread.join()
"""
TESTS = """
import asyncio

import pytest
from shop import acme, bell, charge, checkout, elsewhere, in_a_thread

from workbell import Workbell
from workbell.testing import assert_enqueued, drain, retarget


def test_touched_enqueue():
    charge.enqueue()

def test_touched_read():
    bell.runs()

def test_touched_wait():
    bell.wait("0198c5a2-0000-7000-8000-000000000000", timeout=0)

def test_touched_tenant():
    acme.enqueue("charge")

def test_touched_caught():
    checkout()

@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_touched_thread():
    in_a_thread()

def test_touched_async():
    asyncio.run(charge.aenqueue())

def test_touched_engine():
    async def run():
        async with bell.running():
            pass
    asyncio.run(run())

def test_touched_own(tmp_path_factory):
    with Workbell("sqlite:///other.db") as own:
        own.runs()

def test_touched_server():
    elsewhere.enqueue("charge")

@pytest.fixture
def broken():
    charge.enqueue()

def test_touched_setup(broken):
    pass


def test_fine_calls():
    assert charge(order=3) == 3

def test_fine_memory():
    with Workbell("memory://") as own:
        own.runs()

def test_fine_temporary(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Workbell("sqlite:///own.db") as own:
        assert own.runs() == []

def test_fine_kit(workbell_memory):
    with retarget(bell, workbell_memory):
        charge.enqueue()
        assert_enqueued(workbell_memory, "charge")
        assert [run.result for run in drain(bell)] == [1]

def test_fine_patched(workbell_memory, monkeypatch):
    monkeypatch.setattr(bell, "store", workbell_memory.store)
    charge.enqueue()

def test_touched_again():
    bell.runs()  # also after others have put its store back

@pytest.mark.workbell(real_store=True)
def test_real():
    charge.enqueue()
    assert type(bell.store).__name__ == "SqliteStore"
"""


def outcomes(folder: Path, *options: str) -> tuple[dict[str, str], str]:
    """How each test ended, and all that was printed."""
    done = run_pytest(folder, "-rA", "--strict-markers", *options)
    text = done.stdout + done.stderr
    lines = re.findall(r"^(PASSED|FAILED|ERROR) \S+?::(?:\w+::)?(\w+)", done.stdout, re.MULTILINE)
    return {name: how for how, name in lines}, text


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "test_shop.py").write_text(TESTS)
    return tmp_path


def test_what_touches_a_real_store_fails(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\nworkbell_guard = true\n")
    found, text = outcomes(project)
    ended = {name: "touched" in name for name in found}
    assert {name: how != "PASSED" for name, how in found.items()} == ended, text
    assert sum(ended.values()) == 12
    file = project / "shop.db"
    said = f"test_shop.py::test_touched_caught touches the store sqlite:///{file}, which is not one of tests; use the "
    assert said in text
    assert "`with retarget(bell, workbell_memory):`" in text
    assert "@pytest.mark.workbell(real_store=True)" in text
    assert "test_touched_server touches the store postgresql://" in text
    assert "db.example.com/shop" in text
    assert "secret" not in text.replace('me:secret@db.example.com/shop")', "")
    assert not (project / "other.db").exists()
    assert file.exists()  # of the one test that may


def test_without_the_guard_nothing_is_watched(project: Path) -> None:
    """The plugin is loaded in every test run; it watches only where it is asked to."""
    found, text = outcomes(project, "-k", "test_touched_enqueue or test_fine_kit")
    assert found == {"test_touched_enqueue": "PASSED", "test_fine_kit": "PASSED"}, text


def test_an_application_that_touches_its_store_when_it_is_imported(project: Path) -> None:
    (project / "shop.py").write_text(SHOP + "\nbell.store.check()\n")
    found, text = outcomes(project, "-o", "workbell_guard=true")
    assert found == {}
    assert "the collection of tests touches the store sqlite:///" in text
    assert not (project / "shop.db").exists()


MARKED = """
import pytest

from workbell import InvalidInput, Status, Workbell
from workbell.testing import retarget

bell = Workbell("sqlite:///shop.db")
orders = []


@bell.job
def charge(order: int) -> int:
    orders.append(order)
    return order


@pytest.fixture
def shop(workbell_memory):
    with retarget(bell, workbell_memory):
        yield bell


@pytest.mark.workbell(inline=True)
def test_inline(shop):
    assert charge.enqueue(order=1).result == 1
    with pytest.raises(InvalidInput):
        charge.enqueue(order=object())

@pytest.mark.workbell(inline=True)
def test_inline_of_the_fixture(workbell_memory):
    assert workbell_memory.job(charge.function).enqueue(order=2).status is Status.SUCCEEDED

def test_not_inline(shop):
    assert charge.enqueue(order=3).status is Status.QUEUED

@pytest.mark.workbell(inline=True, real_store=True)
class TestMany:
    def test_of_a_class(self, shop):
        assert charge.enqueue(order=4).result == 4

    @pytest.mark.workbell(inline=False)
    def test_nearer(self, shop):
        assert charge.enqueue(order=5).status is Status.QUEUED

@pytest.mark.workbell(inline=True)
def test_wrong_fixture():
    pass

@pytest.mark.workbell(inlined=True)
def test_wrong_word(shop):
    pass

@pytest.mark.workbell(True)
def test_wrong_position(shop):
    pass

@pytest.mark.workbell(real_store="yes")
def test_wrong_value():
    pass

@pytest.mark.workbell
def test_bare(shop):
    assert charge.enqueue(order=6).status is Status.QUEUED
"""


def test_the_marker(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(MARKED)
    found, text = outcomes(tmp_path, "-o", "workbell_guard=true")
    assert {name: how != "PASSED" for name, how in found.items()} == {name: "wrong" in name for name in found}, text
    assert len(found) == 10
    assert "test_wrong_fixture: pytest.mark.workbell(inline=True) is about the store of the fixture" in text
    words = "there is no option 'inlined'; did you mean inline=? The options are inline, real_store."
    assert f"test_wrong_word: pytest.mark.workbell: {words}" in text
    assert "True has no name; write workbell(inline=True)" in text
    assert "real_store='yes' is not True or False" in text
