"""Guard of the real store: with `workbell_guard = true`, a test that touches it fails.

The guard replaces the attribute `store` of the runtime, by which all verbs, engines and the command line reach a store:
so it also covers a Workbell that was made before the test, other threads and event loops. Safe are `memory://` and
SQLite files below pytest's temporary folder, where the kit's own are; and the databases that Django makes for tests.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from workbell.errors import InvalidOption
from workbell.handlers.app_database import file_of
from workbell.runs.runtime import Runtime
from workbell.settings import safe_url
from workbell.stores.memory.store import MemoryStore
from workbell.testing.marker import read_marker

# Attributes that touch nothing: the time, and what is there of the object itself.
HARMLESS = frozenset({"clock", "close", "file", "publisher"})


class RealStoreTouched(AssertionError):
    """A test has touched a store that is not one of tests."""


class StoreGuard:
    """Plugin that watches one test after the other. An error that the application catches fails the test as well."""

    def __init__(self) -> None:
        self._safe: Path | None = None  # the temporary folder of pytest
        self._test: str | None = None
        self._allowed = False
        self._touched: list[str] = []

    def install(self) -> None:
        setattr(Runtime, "store", GuardedAttribute(self))  # noqa: B010  mypy knows it as an attribute of instances

    def uninstall(self) -> None:
        if isinstance(Runtime.__dict__.get("store"), GuardedAttribute):
            delattr(Runtime, "store")

    def is_safe(self, store: object) -> bool:
        if self._allowed or isinstance(store, MemoryStore):
            return True
        if getattr(getattr(store, "database", None), "is_of_tests", False):  # Django's
            return True
        path = file_of(store)
        return path is not None and self._safe is not None and path.resolve().is_relative_to(self._safe)

    def refuse(self, store: object, url: str) -> NoReturn:
        """Fail the test. `url` is shown, and so has no password."""
        __tracebackhide__ = True
        path = file_of(store)
        name = url if path is None else f"sqlite:///{path.absolute()}"
        who = "the collection of tests touches" if self._test is None else f"{self._test} touches"
        remedy = (
            "use the fixture workbell_memory and, for the application's own Workbell, "
            "`with retarget(bell, workbell_memory):`"
        )
        place = getattr(getattr(store, "database", None), "place", None)
        if place is not None:  # Django's, which has a test runner of its own
            name, remedy = place, "use a TestCase of Django, or `django_db` of pytest-django"
        message = (
            f"{who} the store {name}, which is not one of tests; {remedy}. If the test is meant for this store, "
            "mark it with @pytest.mark.workbell(real_store=True)."
        )
        self._touched.append(message)
        raise RealStoreTouched(message)

    # Hooks of pytest

    @pytest.fixture(scope="session", autouse=True)
    def _workbell_safe_folder(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self._safe = tmp_path_factory.getbasetemp().resolve()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._test = item.nodeid
        try:
            self._allowed = read_marker(item).real_store
        except InvalidOption:  # its setup says so
            self._allowed = False
        try:
            return (yield)
        finally:
            self._test, self._allowed = None, False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        return (yield from self._watched())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        return (yield from self._watched())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        return (yield from self._watched())

    def _watched(self) -> Generator[None, Any, Any]:
        """One phase of a test: it fails if it ends well although the store was touched, in another thread perhaps."""
        try:
            result = yield
            if self._touched:
                pytest.fail(self._touched[0], pytrace=False)
            return result
        finally:
            self._touched.clear()

    def pytest_unconfigure(self) -> None:
        self.uninstall()


class GuardedAttribute:
    """The attribute `store` of a runtime while the guard is on."""

    def __init__(self, guard: StoreGuard) -> None:
        self._guard = guard

    def __get__(self, runtime: Runtime | None, _owner: type[Runtime]) -> Any:
        if runtime is None:
            return self
        store = runtime.__dict__["store"]
        if self._guard.is_safe(store):
            return store
        return RefusedStore(self._guard, store, safe_url(runtime.registry.resources.url))

    def __set__(self, runtime: Runtime, store: Any) -> None:
        # A value that is put back was read through the guard before.
        runtime.__dict__["store"] = store.real if isinstance(store, RefusedStore) else store


class RefusedStore:
    """Stands for a store that tests must not touch: its verbs and parts are refused."""

    def __init__(self, guard: StoreGuard, real: Any, url: str) -> None:
        self._guard = guard
        self.real = real
        self._url = url

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        if name not in HARMLESS and not name.startswith("__"):
            self._guard.refuse(self.real, self._url)
        return getattr(self.real, name)
