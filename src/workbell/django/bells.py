"""The Workbell of a task backend: one that enqueues on Django's connection, and one that workers run.

Both are made when they are first needed, once for a process: Django makes backends anew in every thread, and tests
change the settings and the database below them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings as django_settings
from django.db import connections

from workbell.app import Workbell
from workbell.django.connections import closing_connections
from workbell.django.database import DjangoDatabase
from workbell.django.executing import make_handler
from workbell.django.policies import declared_options
from workbell.django.store_urls import store_url
from workbell.settings import Settings, find_file, load
from workbell.stores.sql_store import SqlStore

DATABASE = "default"
ATTEMPTS = 1  # as in Django's own backends: a task that fails has failed

_lock = threading.RLock()
_tasks: dict[str, Any] = {}  # the declared tasks by their paths; each names the backend that it was declared for
_bells: dict[BackendKey, BackendBells] = {}


class BackendKey(NamedTuple):
    """Settings that a backend's Workbells depend on."""

    alias: str
    database: str
    name: str  # of that database: in tests it is another one
    url: str | None
    attempts: int


class BackendBells:
    """The Workbells of one backend alias, and its tasks."""

    def __init__(self, key: BackendKey) -> None:
        self.key = key
        self._client: Workbell | None = None
        self._engine: Workbell | None = None

    @property
    def client(self) -> Workbell:
        """For enqueues and reads: on Django's own connection, unless OPTIONS name a URL."""
        if self.key.url is not None:
            return self.engine
        with _lock:
            if self._client is None:
                settings = self._settings("sqlite:///django.db")  # named, never opened
                store = SqlStore(DjangoDatabase(self.key.database), settings.keep)
                self._client = self._declare_all(Workbell(settings=settings, store=store))
            return self._client

    @property
    def engine(self) -> Workbell:
        """For workers and commands: on connections of its own."""
        with _lock:
            if self._engine is None:
                url = self.key.url or store_url(self.key.database, connections[self.key.database].settings_dict)
                self._engine = self._declare_all(Workbell(settings=self._settings(url)))
                self._engine.around_run(only="plain")(closing_connections)
            return self._engine

    @property
    def is_on_django(self) -> bool:
        """Whether it enqueues on Django's connection."""
        return self.key.url is None

    def _settings(self, url: str) -> Settings:
        flags = {"url": url, "timezone": django_settings.TIME_ZONE}
        return load(flags, file=find_file())

    def _declare_all(self, bell: Workbell) -> Workbell:
        bell.engine.code_name = f"django:{_site_name()}:{self.key.alias}"
        for task in list(_tasks.values()):
            self._declare_on(bell, task)
        return bell

    def job_name(self, declared: Any) -> str:
        """Name of the job that a declared task is here. One of another backend, which comes here by `using(backend=…)`,
        has a name of its own: so backends in one database leave each other their runs."""
        path: str = declared.module_path
        return path if self._owns(declared) else f"{path}@{self.key.alias}"

    def find_task(self, job: str) -> Any:
        """The declared task behind a job, if this process has it."""
        task = _tasks.get(job.removesuffix(f"@{self.key.alias}"))
        return task if task is not None and self.job_name(task) == job else None

    def _owns(self, declared: Any) -> bool:
        return bool(declared.backend == self.key.alias)

    def refresh(self, task: Any) -> None:
        """Declare a task on the Workbells that are made already."""
        for bell in (self._client, self._engine):
            if bell is not None:
                self._declare_on(bell, task)

    def _declare_on(self, bell: Workbell, task: Any) -> None:
        job = self.job_name(task)
        known = bell.registry.find(job)
        if known is not None and getattr(known.function, "task_function", None) is task.func:
            return
        handler = make_handler(self.key.alias, task, self.key.attempts)
        options = declared_options(task, self.key.attempts)
        if not self._owns(task):  # its schedule is of the backend that it was declared for
            options = {name: value for name, value in options.items() if name not in ("cron", "timezone")}
        bell.job(name=job, **options)(handler)

    def close(self) -> None:
        for bell in (self._client, self._engine):
            if bell is not None:
                bell.close()


def declare(task: Any) -> Any:
    """Make a task a job of every backend, unless it is one; the declared task of this function. Nothing is opened."""
    with _lock:
        known = _tasks.get(task.module_path)
        if known is None or known.func is not task.func:
            known = _tasks[task.module_path] = task
        for bells in _bells.values():
            bells.refresh(known)
        return known


def _site_name() -> str:
    """Name of the Django project: the same for every command and every variant of its settings."""
    return str(getattr(django_settings, "ROOT_URLCONF", None) or django_settings.SETTINGS_MODULE)


def bells_of(alias: str, options: Mapping[str, Any]) -> BackendBells:
    """The Workbells of a backend with these OPTIONS."""
    database = options.get("database", DATABASE)
    url = options.get("url")
    name = "" if url is not None else str(connections[database].settings_dict["NAME"])
    key = BackendKey(alias, database, name, url, options.get("max_attempts", ATTEMPTS))
    with _lock:
        if key not in _bells:
            _bells[key] = BackendBells(key)
        return _bells[key]


def close_all() -> None:
    """Close the Workbells of this process; those that are needed again are made again."""
    with _lock:
        for bells in _bells.values():
            bells.close()
        _bells.clear()
