"""Checks of one job file: required names, settings, their combination, and misspelt names. All problems at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from workbell.errors import InvalidInput, InvalidOption, JobsError, WorkbellError
from workbell.handlers.alert_urls import checked_url
from workbell.handlers.event_handler import Handler
from workbell.handlers.job_function import JobFunction
from workbell.handlers.process_isolation import isolation_of
from workbell.handlers.signature import Signature
from workbell.job_files.discover import FoundFile
from workbell.job_files.job_file import FileProblem, JobFile
from workbell.job_files.settings import (
    EVENT_EXAMPLE,
    EXAMPLE,
    ISOLATION,
    NOT_GUESSED,
    OF_TICKS,
    READERS,
    SETTINGS,
    read_schedule,
    read_timezone,
    read_window,
)
from workbell.job_files.source import Binding, SourceFile
from workbell.model.alert import URLS
from workbell.model.limit import Limits

UTC = "UTC"  # for the other checks, if the zone is unknown or invalid


class Check:
    """Checks of one file. `values` are those of its module, or only its literals if it could not be executed."""

    def __init__(
        self,
        found: FoundFile,
        source: SourceFile,
        values: Mapping[str, Any],
        *,
        executed: bool,
        timezone: str | None,
        allow: Sequence[str] = (),
    ) -> None:
        self._found = found
        self._source = source
        self._values = values
        self._executed = executed
        self._default_zone = timezone
        self._allow = allow
        self._settings: dict[str, Any] = {}
        self.problems: list[FileProblem] = []

    def read(self) -> JobFile | None:
        """The job; None if there are `problems`."""
        misspelt = self._misspelt()
        self._read_times()
        for setting, read in READERS.items():
            self._read(setting, read)
        for url in URLS:
            self._read(url, partial(checked_url, url, allow=self._allow))
        self._read_isolation()
        self._read_causes(misspelt)
        if self._is_missing("run") and "run" not in misspelt:
            self._note("run", "it has no function run; write def run(ctx): or async def run(ctx): in it.")
        if self._executed and "run" in self._values:
            self._read_run(self._values["run"])
        if self.problems or not self._executed:
            return None
        found, function = self._found, self._values["run"]
        about = inspect.getdoc(function) or inspect.cleandoc(self._values.get("__doc__") or "")
        return JobFile(
            path=found.path,
            name=found.name,
            module=found.module,
            function=function,
            digest=self._source.digest,
            **{"description": about} | self._settings,
        )

    def _read_causes(self, misspelt: set[str]) -> None:
        """Check that a schedule or events start the job, and that settings of a schedule have one."""
        if not self._is_missing("schedule"):
            return
        if self._is_missing("on") or (self._executed and self._values.get("on") is None):
            if "schedule" not in misspelt:
                remedy = f"write {EXAMPLE} or {EVENT_EXAMPLE} in it, or start its name with _ if it is no job"
                self._note("schedule", f"it has no schedule and no events to start it; {remedy}.")
            return
        for setting in OF_TICKS:
            if self._values.get(setting) is not None:
                self._note(setting, f"{setting}: it is about a schedule, and there is none; write one, or take it out.")

    def _note(self, name: str, message: str) -> None:
        self.problems.append(FileProblem(self._found.path, self._source.line_of(name), message))

    def _is_missing(self, name: str) -> bool:
        """Whether a name is missing; judged by the source if the file could not be executed."""
        if self._executed:
            return name not in self._values
        return name not in self._source.bindings and not self._source.takes_all

    def _read(self, setting: str, read: Callable[[Any], Any]) -> None:
        value = self._values.get(setting)
        if value is None and (setting != "schedule" or setting not in self._values):
            return
        try:
            self._settings[setting] = read(value)
        except WorkbellError as error:
            self._note(setting, str(error))

    def _read_times(self) -> None:
        self._read("timezone", read_timezone)
        zone: str = self._settings.get("timezone") or self._default_zone or UTC
        if self._values.get("timezone") is not None and "timezone" not in self._settings:
            zone = UTC  # its own is invalid, which is reported already
        self._read("schedule", lambda value: read_schedule(value, zone))
        self._read("window", lambda value: read_window(value, zone))

    def _read_isolation(self) -> None:
        try:
            self._settings["isolation"] = isolation_of(*(self._values.get(setting) for setting in ISOLATION))
        except WorkbellError as error:
            self._note(str(error).partition(":")[0], str(error))  # a message begins with the name of its setting

    def _read_run(self, run: Any) -> None:
        problem = _unsuitable(run)
        if problem is not None:
            self._note("run", problem)
            return
        try:
            signature = Signature(self._found.name, self._handler(run))
        except WorkbellError as error:
            self._note("run", str(error))
            return
        self._check_limits(signature)
        if "input" not in self._settings and self._values.get("input") is not None:
            return  # it is invalid, which is reported already
        try:
            signature.encode(self._settings.get("input", {}))
        except InvalidInput as error:
            name = "input" if "input" in self._settings else "run"
            self._note(name, f"{error} {_input_remedy(run, signature)}")

    def _handler(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is called; an event fills in some of its parameters."""
        if self._values.get("on") is None:
            return run
        handler = Handler(self._found.name, run)
        if handler.needs_event and self._values.get("schedule") is not None:
            raise JobsError("run takes an event, and a tick of the schedule brings none; write event=None.")
        return handler.wrapped(inspect.iscoroutinefunction(run))

    def _check_limits(self, signature: Signature) -> None:
        """Check the combination of limits, and their keys against the arguments, if each is valid by itself."""
        given = {word: self._settings.get(word) for word in Limits._fields}
        if any(self._values.get(word) is not None and given[word] is None for word in given):
            return
        try:
            Limits(**given).checked(signature.arguments)
        except InvalidOption as error:
            keys = [word for word in ("concurrency_key", "rate_key") if given[word] is not None]
            self._note(keys[0], str(error))

    def _misspelt(self) -> set[str]:
        """Report names that are close to a missing one of ours; return those of ours."""
        taken = self._source.bindings.keys()
        meant: set[str] = set()
        for name, binding in self._source.bindings.items():
            close = get_close_matches(name.lower(), _candidates(name, binding) - taken, 1, cutoff=0.8)
            if close:
                meant.add(close[0])
                self._note(name, f"{name!r} means nothing here; write {close[0]!r}, or _{name} if it is your own.")
        return meant


def _candidates(name: str, binding: Binding) -> set[str]:
    if name in SETTINGS or name.startswith("_"):
        return set()
    if binding.kind == "function":
        return {"run"}
    if binding.kind != "value":
        return set()
    # TIMEOUT = 5 is a constant like any other.
    return {"schedule"} if name.isupper() else set(SETTINGS) - NOT_GUESSED


def _unsuitable(run: Any) -> str | None:
    if isinstance(run, JobFunction):
        return "run is a job of its own by @bell.job; take the decorator away, the file itself makes it a job."
    if not callable(run) or not hasattr(run, "__qualname__") or inspect.isclass(run):
        return f"run is a {type(run).__name__} and not a function; write def run(ctx): or async def run(ctx):"
    if inspect.isgeneratorfunction(run) or inspect.isasyncgenfunction(run):
        return "run has a yield in it and would never be executed; return what it is to leave behind."
    return None


def _input_remedy(run: Callable[..., Any], signature: Signature) -> str:
    first = next(iter(inspect.signature(run).parameters.values()), None)
    if first is not None and not signature.wants_context and first.annotation is first.empty:
        return f"Set input = {{…}} in the file; or, if {first.name} is to be the context, name it ctx."
    return "Set input = {…} in the file."
