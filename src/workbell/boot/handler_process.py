"""Main function of a handler process (`isolate="process"`): makes the worker's Workbell again and finds the job."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from workbell.app import Workbell
from workbell.boot.recipe import Recipe, make
from workbell.engine.handler_processes.entry import Entry, HookNames
from workbell.engine.handler_processes.messages import Execute
from workbell.engine.handler_processes.serve import HandlerServer
from workbell.errors import JobsError
from workbell.handlers.function_names import find_by_name, find_hook, function_name
from workbell.handlers.job_function import JobFunction
from workbell.handlers.run_hooks import RunHook
from workbell.handlers.worker_start import WorkerStart
from workbell.job_files import JobFiles
from workbell.logs import set_up
from workbell.runs.job_services import RuntimeServices
from workbell.settings import Settings, safe_url

FOR_HANDLER = 1  # connections: it executes one run at a time
FILE = ".py:run"  # how the handler of a job file ends


def main(connection: Connection, given: Entry) -> None:
    settings = msgspec.json.decode(given.settings, type=Settings)
    recipe = None
    if given.recipe is not None:
        recipe = msgspec.json.decode(given.recipe, type=Recipe)
        set_up(settings.log_level, settings.log_format)
    finder = JobFinder(settings, given.project, recipe, given.hooks)
    server = HandlerServer(connection, finder.find)
    finder.post = server.send
    server.run()


class JobFinder:
    """Finds a job in the Workbell of the recipe; without a recipe, in the module that declares it."""

    def __init__(self, settings: Settings, project: str, recipe: Recipe | None, hooks: HookNames) -> None:
        self._settings = settings
        self._recipe = recipe
        # A job file needs no app: a Workbell with the same settings does as well.
        self._for_files = recipe or Recipe(msgspec.structs.replace(settings, app=None), project)
        self._bell: Workbell | None = None
        self._hooks = None if recipe is not None else HooksByName(hooks)
        self.post: Any = None  # passes notifications to the worker

    def find(self, execute: Execute) -> JobFunction[Any, Any]:
        by_name = self._recipe is not None or execute.handler.endswith(FILE)
        name = execute.job or execute.run.job
        job = self._find_by_name(name) if by_name else _find_in_module(name, execute.handler)
        services = job.services
        assert isinstance(services, RuntimeServices)
        if services.resources.url != self._settings.url:
            raise JobsError(
                f"its process has another store than the worker: {safe_url(services.resources.url)} and not "
                f"{safe_url(self._settings.url)}; the app must come to the same URL in every process."
            )
        services.runtime.hooks.post = self.post
        services.store.limit_connections(FOR_HANDLER)
        if self._hooks is None:
            services.runtime.registry.worker_start.call_once()
        else:
            self._hooks.put_around(job)
        return job if execute.job is None else job.named(execute.run.job, execute.timeout)

    def _find_by_name(self, name: str) -> JobFunction[Any, Any]:
        if self._bell is None:
            self._bell = make(self._for_files)
        problems = [] if name in self._bell.registry else load_files(self._bell, self._for_files.folder)
        job = self._bell.registry.find(name)
        if job is None:
            found = "; ".join(problems) or "neither the app nor a job file declares it"
            raise JobsError(f"its process cannot find it: {found}.")
        return job


class HooksByName:
    """The worker's hooks where no recipe makes its Workbell again, in its order: those that the module of a job has
    declared here too, and the others one by one."""

    def __init__(self, names: HookNames) -> None:
        self._names = names
        self._found: dict[bool, list[RunHook]] = {}
        self._start: WorkerStart | None = None

    def put_around(self, job: JobFunction[Any, Any]) -> None:
        """Give a job its hooks, and call what the start of a worker calls, once."""
        assert isinstance(job.services, RuntimeServices)
        registry = job.services.runtime.registry
        if job.is_async not in self._found:
            names = self._names.on_loop if job.is_async else self._names.plain
            own = {hook.name: hook for hook in registry.hooks_of(is_async=job.is_async)}
            self._found[job.is_async] = [own.get(name) or RunHook(find_hook(name)) for name in names]
        if self._start is None:
            start = WorkerStart()
            declared = {function_name(function): function for function in registry.worker_start.functions}
            for name in self._names.on_start:
                start.add(declared.get(name) or find_hook(name))
            self._start = start
        self._start.call_once()
        job.hooks = self._found[job.is_async]


def load_files(bell: Workbell, folder: str) -> list[str]:
    """Register the job files, and write nothing to the store; return their problems."""
    settings = bell.settings
    change = JobFiles(Path(folder), settings.jobs, settings.timezone, settings.webhook_allow).reload()
    files = [file for file in change.loaded if file.name not in bell.registry]
    bell.registry.replace([bell.engine.job_of(file) for file in files], ())
    return [str(problem) for problem in change.problems]


def _find_in_module(name: str, handler: str) -> JobFunction[Any, Any]:
    """The job of `module:function`."""
    module_name, _, path = handler.partition(":")
    found = find_by_name(handler)
    if not isinstance(found, JobFunction) or found.name != name:
        raise JobsError(
            f"its process finds no such job as {path} in {module_name}; declare it with @bell.job at the top level of "
            "a module, and start the program from a file."
        )
    return found
