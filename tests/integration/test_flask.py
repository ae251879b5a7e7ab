"""`workbell.flask`: the store of the application's configuration, and its context around every run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask, current_app, g, has_app_context

from tests.support.inside.stores import Store, open_store
from tests.support.inside.values import Retention, Settings
from workbell import SettingsError, Workbell
from workbell.flask import init_app
from workbell.testing import drain


@pytest.fixture
def bell(tmp_path: Path) -> Iterator[Workbell]:
    """Made at the top of a module, before there is an application; its own store stays untouched."""
    with Workbell(settings=Settings(url=f"sqlite:///{tmp_path / 'unused.db'}")) as made:
        yield made


def create_app(bell: Workbell, folder: Path, name: str = "shop") -> Flask:
    app = Flask(name)
    app.config["WORKBELL_URL"] = f"sqlite:///{folder / f'{name}.db'}"
    init_app(app, bell)
    return app


def test_a_view_enqueues_and_a_handler_has_the_context(bell: Workbell, tmp_path: Path) -> None:
    @bell.job
    def charge(order: int) -> str:
        g.order = order
        return f"{current_app.name} {g.order}"

    @bell.job
    async def confirm(order: int) -> str:
        return f"{current_app.name} {order}"

    app = create_app(bell, tmp_path)

    @app.post("/orders/<int:number>")
    def order(number: int) -> dict[str, str]:
        confirm.enqueue(number)
        return {"run": charge.enqueue(number).id}

    run = app.test_client().post("/orders/7").get_json()["run"]
    assert sorted((done.job, done.result) for done in drain(bell)) == [("charge", "shop 7"), ("confirm", "shop 7")]
    assert bell.wait(run, timeout=30).result == "shop 7"
    assert not has_app_context()
    assert app.extensions["workbell"] is bell
    assert (tmp_path / "shop.db").exists()
    assert not (tmp_path / "unused.db").exists()


def test_teardown_functions_get_the_error_of_the_handler(bell: Workbell, tmp_path: Path) -> None:
    """So that Flask-SQLAlchemy, for one, gives its session back after each run."""
    app = create_app(bell, tmp_path)
    seen: list[str] = []
    app.teardown_appcontext(lambda error: seen.append(repr(error)))

    @bell.job
    def charge(order: int) -> None:
        if order == 2:
            raise ValueError("no card")

    charge.enqueue(1)
    charge.enqueue(2)
    drain(bell)
    assert sorted(seen) == ["None", "ValueError('no card')"]


def test_of_several_applications_the_last_one_is_used(bell: Workbell, tmp_path: Path) -> None:
    """As in tests, where each makes one. Its context is there once, not one in the other."""
    torn_down: list[str] = []

    @bell.job
    def who() -> str:
        return current_app.name

    for name in ("first", "second"):
        app = create_app(bell, tmp_path, name)
        app.teardown_appcontext(lambda _, name=name: torn_down.append(name))
        who.enqueue()
        assert [run.result for run in drain(bell)] == [name]
        assert len(bell.runs()) == 1
    assert torn_down == ["first", "second"]


@pytest.mark.anyio
async def test_tenants_from_before_the_application_follow_to_its_store(bell: Workbell, tmp_path: Path) -> None:
    """A client at the top of a module would go on writing where no worker reads."""

    @bell.job
    def charge() -> None: ...

    acme = bell.for_tenant("acme")
    create_app(bell, tmp_path)
    runs = [acme.enqueue("charge"), await acme.aenqueue("charge")]
    assert {run.id for run in drain(bell)} == {run.id for run in runs}
    assert not (tmp_path / "unused.db").exists()
    assert acme.store is bell.store


def test_without_a_url_the_workbell_stays_on_its_own(bell: Workbell, tmp_path: Path) -> None:
    store = bell.store
    init_app(Flask("shop"), bell)
    assert bell.store is store


@pytest.mark.anyio
async def test_a_running_engine_keeps_its_store(bell: Workbell, tmp_path: Path) -> None:
    async with bell.running():
        with pytest.raises(SettingsError, match="call init_app before it starts"):
            create_app(bell, tmp_path)


def test_a_queue_of_its_own_keeps_its_store(bell: Workbell, tmp_path: Path) -> None:
    settings = Settings(url="memory://", queue_url="redis://127.0.0.1:1/0")
    expected = pytest.raises(SettingsError, match=r"leave WORKBELL_URL out of the configuration")
    with Workbell(settings=settings) as queued, expected:
        create_app(queued, tmp_path)


def test_isolated_handlers_are_told_the_same_store(bell: Workbell, tmp_path: Path) -> None:
    """Their process compares the store of the code with that of the worker."""
    app = create_app(bell, tmp_path)
    assert bell.registry.resources.url == bell.settings.url == app.config["WORKBELL_URL"]


def test_the_store_keeps_to_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Retention, int | None]] = []

    def opening(url: str, keep: Retention | None = None, connections: int | None = None) -> Store:
        assert keep is not None
        asked.append((keep, connections))
        return open_store(url, keep, connections)

    monkeypatch.setattr("workbell.flask.open_store", opening)
    settings = Settings(url=f"sqlite:///{tmp_path}/unused.db", keep_other=60, connections=3)
    with Workbell(settings=settings) as bell:
        create_app(bell, tmp_path)
        assert asked == [(settings.keep, 3)]
        bell.job(name="work")(lambda: None)
        old = bell.enqueue("work", tag="t")
        bell.enqueue("work", tag="t", replace_tag=True)
        ended = bell.get(old.id)
        assert (ended.remove_at - ended.finished_at).total_seconds() == 60
