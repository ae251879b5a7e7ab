"""Writes docs/reference/api.md and http.md from the code itself; `--check` only says whether they are up to date.

Everything on these pages comes from signatures, docstrings and the command line's own help, in the order of the
source, so that two runs give the same text. What a field means is the description that the API gives of it. The few
words that the code does not carry (what a setting means) stand in words.py, and it is an error if one is missing or
too many.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType, ModuleType, NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import click
import msgspec
from words import FOR_US, MODEL_FIELDS, OTHER_OPTIONS, OTHER_WORDS, PLAIN_FIELDS, SETTINGS

import workbell
from workbell import (
    Access,
    Attempt,
    Cancel,
    Context,
    Cron,
    Event,
    Job,
    Retry,
    Run,
    Schedule,
    Snooze,
    Status,
    Tick,
    TryAgain,
    Workbell,
    WorkbellError,
)
from workbell.access.audit import Audit
from workbell.access.tenants import Tenants
from workbell.access.tokens import Tokens
from workbell.agents.verbs import Agents
from workbell.claims.pauses import Pauses
from workbell.cli.lazy import LazyGroup
from workbell.cli.service import is_capable
from workbell.client.declaring import Declarations
from workbell.client.declaring_hooks import HookDeclarations
from workbell.client.local import LocalClient
from workbell.events.executions import Executions
from workbell.events.triggers import Triggers
from workbell.events.verbs import Events
from workbell.files.verbs import Files
from workbell.handlers.files import Storage
from workbell.handlers.job_function import Enqueuer, JobFunction
from workbell.job_files.job_folder import JobFolder, JobRun, RegisteredJob
from workbell.model import request, run_settings
from workbell.model.access import Token
from workbell.model.agent import Agent
from workbell.model.audit import AuditEntry
from workbell.model.delivery import Delivery
from workbell.model.event import MatchOutcome
from workbell.model.event_count import EventCount
from workbell.model.event_subscribers import EventSubscriber, Matched
from workbell.model.execution import Execution, Invocation
from workbell.model.log_line import LogLine
from workbell.model.notification import Notification
from workbell.model.one_shot import Consumed, ConsumedRun, Dispatched
from workbell.model.pause import Pause
from workbell.model.queue_state import PausedJob, QueueState
from workbell.model.recent_runs import RecentRun, RecentRuns
from workbell.model.run import AttemptStatus
from workbell.model.schedule import TickOutcome
from workbell.model.schema_examples import AT, RUN_ID
from workbell.model.stored_file import StoredFile
from workbell.model.tally_chart import EndsOfJob, EndsOfStep, TallyChart
from workbell.model.tenant import Tenant
from workbell.model.trigger import Trigger
from workbell.model.upcoming_ticks import TriedTiming, UpcomingTick, UpcomingTicks
from workbell.model.worker import SeenWorker, Worker
from workbell.notices.listeners import LifecycleEvent
from workbell.notices.notifications import Notifications
from workbell.runs import jobs
from workbell.runs.jobs import Jobs
from workbell.runs.queues import Queues
from workbell.runs.verbs import Runs
from workbell.runs.workers import Workers
from workbell.scheduling import settings as settings_of_schedules
from workbell.scheduling.schedules import Schedules
from workbell.settings import PREFIX as ENVIRONMENT
from workbell.settings import Settings
from workbell.webhooks import endpoints, signature
from workbell.webhooks.verbs import Webhooks
from workbell.wire.agents import AgentShown
from workbell.wire.audit import AuditShown
from workbell.wire.events import EventShown
from workbell.wire.jobs import JobShown
from workbell.wire.notifications import NotificationShown
from workbell.wire.operation import IDEMPOTENCY_KEY, PREFIX, Operation
from workbell.wire.runs import RunShown
from workbell.wire.schedules import ScheduleBody, ScheduleShown
from workbell.wire.table import RESOURCES
from workbell.wire.tenants import TenantShown
from workbell.wire.tokens import TokenShown
from workbell.wire.triggers import TriggerShown

FOLDER = Path(__file__).parent / "reference"
_used: set[str] = set()  # words of MODEL_FIELDS and PLAIN_FIELDS that the page has
NULL = re.compile(r"\b[Nn]ull\b")

CALLED = {"runs": Runs, "executions": Executions, "workers": Workers, "pauses": Pauses}  # parts that are verbs, too

# What is served beside the API itself.
PAGES = [
    (
        "GET /",
        "–",
        "The page of the service; with the token of a printed URL, the button that signs a browser in.",
    ),
    ("GET /docs", "–", "This table for people, with parameters and examples."),
    ("GET /openapi.json", "–", "The same for programs."),
    ("GET /healthz", "–", "Whether the process lives."),
    ("GET /readyz", "–", "Whether the store answers, and the server is not stopping."),
    ("GET /metrics", "`read`", "For Prometheus; with `http_metrics_open` without a token."),
    ("GET /ws", "a session, a token or a ticket", "[The WebSocket](../how-to/notifications.md#the-websocket)."),
]


def page() -> str:
    """The whole page."""
    parts = [
        "# Reference",
        "This page is made from the code by `docs/generate.py`. Do not edit it by hand.",
        *_names(),
        *_class(
            "Workbell",
            Workbell,
            [Workbell, Declarations, HookDeclarations, LocalClient],
            CALLED,
        ),
        *_parts(),
        *_class("A job: what `@bell.job` makes", JobFunction, [JobFunction]),
        *_class("A job with options: what `job.options(…)` makes", Enqueuer, [Enqueuer]),
        *_options(),
        *_class("Jobs: `bell.jobs`", Jobs, [Jobs]),
        *_options_of_a_definition(),
        *_fields("Job: what `bell.jobs` gives", Job, JobShown),
        *_described("Recent runs of a job: what `bell.jobs.recent` gives", RecentRuns),
        *_described("A recent run", RecentRun),
        *_class("Schedules: `bell.schedules`", Schedules, [Schedules]),
        *_settings_of_a_schedule(),
        *_schedule(),
        *_tick(),
        *_described("Next tick of a schedule: what `bell.schedules.upcoming` gives", UpcomingTick),
        *_described("Preview: what `bell.schedules.preview_local` gives", UpcomingTicks),
        *_described("Preview of a timing: what `bell.schedules.try_out` gives", TriedTiming),
        *_class("Cron", Cron, [Cron]),
        *_class("Events: `bell.events`", Events, [Events]),
        *_event(),
        *_described("Subscribers of an event type: what `bell.events.match` gives", EventSubscriber),
        *_matched(),
        *_described("Count of matches: what `bell.events.counts` gives", EventCount),
        *_class("Triggers: `bell.triggers`", Triggers, [Triggers]),
        *_fields("Trigger", Trigger, TriggerShown),
        *_described("Execution: what `bell.executions` gives", Execution),
        *_described("Invocation: what `bell.invocations` gives", Invocation),
        *_class("Webhooks: `bell.webhooks`", Webhooks, [Webhooks]),
        *_settings_of_an_endpoint(),
        *_fields("Delivery: what `bell.webhooks.deliveries` gives", Delivery),
        *_verify(),
        *_class("Notifications: `bell.notifications`", Notifications, [Notifications]),
        *_fields("Notification", Notification, NotificationShown),
        *_class("Tokens: `bell.tokens`", Tokens, [Tokens]),
        *_fields("Token", Token, TokenShown),
        *_fields("Access: what an `auth` hook answers", Access),
        *_class("Tenants: `bell.tenants`", Tenants, [Tenants]),
        *_fields("Tenant", Tenant, TenantShown),
        *_class("The audit log: `bell.audit`", Audit, [Audit]),
        *_fields("Entry of the audit log", AuditEntry, AuditShown),
        *_class("Agents: `bell.agents`", Agents, [Agents]),
        *_fields("Agent", Agent, AgentShown),
        *_remote(),
        *_class("The engine of a project: `bell.engine`", JobFolder, [JobFolder]),
        *_tuple("A job that runs by itself: what `bell.engine.list()` gives", RegisteredJob),
        *_tuple("A run that ended: what `bell.engine.get_runs(name)` gives", JobRun),
        *_struct("What `bell.listen` tells", LifecycleEvent),
        *_class("Context", Context, [Context]),
        *_class("Files: `ctx.storage`", Storage, [Storage]),
        *_class("Files: `bell.files`", Files, [Files]),
        *_described("A stored file", StoredFile),
        *_struct("Retry", Retry),
        *_struct("Cancel", Cancel),
        *_struct("Snooze", Snooze),
        "## TryAgain",
        f"`TryAgain{_signature(TryAgain.__init__)}`",
        _doc(TryAgain),
        *_run(),
        *_fields("A log line: what `bell.logs` gives", LogLine),
        *_described("Finished runs over time: what `bell.runs.tallies` gives", TallyChart),
        *_described("Numbers of a step", EndsOfStep),
        *_described("Numbers of a job", EndsOfJob),
        *_class("Queues: `bell.queues`", Queues, [Queues]),
        *_described("A queue: what `bell.queues.list` gives", QueueState),
        *_described("A paused job of a queue", PausedJob),
        *_fields("A pause", Pause),
        *_struct("A round of dispatch: what `bell.dispatch` gives", Dispatched),
        *_struct("A round of work: what `bell.consume` gives", Consumed),
        *_struct("A run of a round of work", ConsumedRun),
        *_fields("A worker", Worker),
        *_tuple("A worker as it is seen: what `bell.workers()` gives", SeenWorker),
        *_settings(),
        *_errors(),
        *_testing(),
        *_command_line(),
    ]
    unused = sorted({*MODEL_FIELDS, *PLAIN_FIELDS} - _used)
    if unused:
        raise SystemExit(f"docs/words.py: no field needs the words about {', '.join(unused)}.")
    return "\n\n".join(parts) + "\n"


def _names() -> Iterator[str]:
    yield "## Names in `workbell`"
    rows = []
    for name in workbell.__all__:
        value = getattr(workbell, name)
        rows.append([f"`{name}`", "The version, a text." if isinstance(value, str) else _first_line(value)])
    yield _table(["Name", "What it is"], rows)


def _class(
    title: str, kind: type, bases: list[type], called: Mapping[str, type] = MappingProxyType({})
) -> Iterator[str]:
    """A class with its public methods; an async twin is named beside its verb instead of listed."""
    yield f"## {title}"
    yield _doc(kind)
    methods: dict[str, Any] = {}
    for base in bases:
        for name, value in vars(base).items():
            if name[1:] in called:  # beside its async twin
                methods[name[1:]] = vars(called[name[1:]])["__call__"]
            if _is_public(name, value) and name not in methods:
                methods[name] = value
    for name, value in methods.items():
        if _verb_of(name, methods) is not None or f"{kind.__name__}.{name}" in FOR_US:
            continue
        yield f"### `{name}{_signature(value)}`"
        twin = next((other for other in methods if _verb_of(other, methods) == name), None)
        text = _doc(value.fget if isinstance(value, property) else value)
        text = text or OTHER_WORDS[f"{kind.__name__}.{name}"]
        yield f"{text} Async: `{twin}`." if twin else text


def _parts() -> Iterator[str]:
    """The parts whose verbs a Workbell offers itself."""
    yield "## Parts: `bell.runs`, `bell.executions`, `bell.workers`, `bell.pauses`"
    yield "The verbs above about runs, executions, workers and pauses belong to these parts, and are there too."
    rows = []
    for name, kind in CALLED.items():
        verbs = [verb for verb, value in vars(kind).items() if _is_public(verb, value)]
        plain = [verb for verb in verbs if verb != "acall" and _verb_of(verb, dict.fromkeys(verbs)) is None]
        rows.append([f"`bell.{name}(…)`", ", ".join(f"`bell.{name}.{verb}`" for verb in plain)])
    yield _table(["Part", "Its other verbs"], rows)
    offered = {getattr(value, "__wrapped__", None) for value in vars(LocalClient).values()}
    for name, kind in CALLED.items():
        verbs = {verb: value for verb, value in vars(kind).items() if _is_public(verb, value)}
        for verb, value in verbs.items():
            if value not in offered and _verb_of(verb, verbs) is None and verb != "acall":
                yield f"### `bell.{name}.{verb}{_signature(value)}`"
                yield f"{_doc(value)} Async: `a{verb}`."


def _is_public(name: str, value: object) -> bool:
    return not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))


def _verb_of(name: str, methods: dict[str, Any]) -> str | None:
    """The plain verb of an async one: `aget` is `get`, and `await_` is `wait`."""
    verb = name[1:].removesuffix("_") if name.startswith("a") else ""
    return verb if verb in methods else None


def _signature(value: Callable[..., Any] | property) -> str:
    if isinstance(value, property):
        return ""
    shown, starred = [], False
    for parameter in inspect.signature(value).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        # As Python writes it: `*args`, `**options`.
        text = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
        if parameter.default is not parameter.empty:
            default = parameter.default
            text += f"={default.value if isinstance(default, Enum) else default!r}"
        shown.append(text)
    return f"({', '.join(shown)})"


def _options() -> Iterator[str]:
    """The options of an enqueue. Their words stand below each field, where only a parser sees them."""
    yield "## Options of an enqueue"
    yield (
        "For `job.options(…).enqueue(…)` and as keywords of `bell.enqueue(name, input, …)`. "
        "Spans are seconds or a `timedelta`; times must have a zone."
    )
    yield _table(["Option", "Type", "What it does"], _rows_of(request, "EnqueueOptions"))


def _options_of_a_definition() -> Iterator[str]:
    yield "## Options of a definition"
    yield (
        "For `bell.jobs.put(name, handler=…, …)` and `bell.jobs.update(name, …)`, which also take the settings of all "
        "runs "
        "([below](#settings-of-a-schedule)), such as `priority` and `tag`."
    )
    yield _table(["Option", "Type", "What it does"], _rows_of(jobs, "JobOptions"))


def _settings_of_a_schedule() -> Iterator[str]:
    yield "## Settings of a schedule"
    yield (
        "For `bell.schedules.put(name, job=…, …)`. The first table also goes with `@bell.job(…)`. "
        "Spans are seconds or a `timedelta`; times must have a zone."
    )
    yield _table(["Setting", "Type", "What it does"], _rows_of(settings_of_schedules, "TickSettings"))
    yield "And how its runs differ from other runs of the job:"
    yield _table(["Setting", "Type", "What it does"], _rows_of(settings_of_schedules, "ScheduleSettings"))
    yield (
        "The following also go with `@bell.job(…)`, `@bell.on(…)`, `@bell.processor(…)`, `bell.triggers.add(…)` and "
        "job files. "
        "What is said nearest to a run counts: on the run itself, then its schedule or trigger, then its job."
    )
    yield _table(["Setting", "Type", "What it does"], _rows_of(run_settings, "RunSettings"))


def _rows_of(module: ModuleType, name: str) -> list[list[str]]:
    """The fields of a TypedDict with the words below each."""
    tree = ast.parse(inspect.getsource(module))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    rows = []
    for place, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            after = body[place + 1] if place + 1 < len(body) else None
            name, text = node.target.id, ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = str(after.value.value).replace("|", "\\|")
            rows.append([f"`{name}`", _code(ast.unparse(node.annotation)), text or OTHER_OPTIONS[name]])
    return rows


def _struct(title: str, kind: type[msgspec.Struct]) -> Iterator[str]:
    yield f"## {title}"
    yield _doc(kind)
    hints = inspect.get_annotations(kind)
    rows = [
        [f"`{field.name}`", _code(_bare(str(hints[field.name]))), _default(field.default)]
        for field in msgspec.structs.fields(kind)
    ]
    yield _table(["Field", "Type", "Default"], rows)


def _described(title: str, kind: type[msgspec.Struct]) -> Iterator[str]:
    """A struct whose fields carry their words themselves."""
    yield f"## {title}"
    yield _doc(kind)
    types, hints = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    rows = [[f"`{name}`", _code(_type_name(types[name])), _meta_words(hint)] for name, hint in hints.items()]
    yield _table(["Field", "Type", "What it is"], rows)


def _type_name(hint: Any) -> str:
    """`datetime | None` of `Optional[datetime.datetime]`."""
    if get_origin(hint) in (Union, UnionType):
        return " | ".join("None" if one is NoneType else _type_name(one) for one in get_args(hint))
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else re.sub(r"\b\w+\.", "", str(hint))


def _meta_words(hint: Any) -> str:
    found = (meta.description for meta in get_args(hint)[1:] if isinstance(meta, msgspec.Meta) and meta.description)
    return next(found, "")


def _bare(hint: str) -> str:
    """A type without what `Annotated` says about it."""
    node = ast.parse(hint, mode="eval").body
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated" and isinstance(node.slice, ast.Tuple):
        return ast.unparse(node.slice.elts[0])
    return hint


def _tuple(title: str, kind: type) -> Iterator[str]:
    yield f"## {title}"
    yield _doc(kind)
    hints = {name: getattr(hint, "__forward_arg__", str(hint)) for name, hint in kind.__annotations__.items()}
    yield _table(["Field", "Type"], [[f"`{name}`", _code(hint)] for name, hint in hints.items()])


def _schedule() -> Iterator[str]:
    yield "## Schedule"
    yield _doc(Schedule) + " `schedule.as_dict()` gives these fields as a dict; the settings are in `schedule.options`."
    names = [name for name in ScheduleShown.__struct_fields__ if name != "in_words"]
    yield _table(["Field", "What it is"], _field_rows(names, ScheduleShown, ScheduleBody))


def _fields(title: str, kind: type[msgspec.Struct], *others: type[msgspec.Struct]) -> Iterator[str]:
    """A struct with a word about each field: its own, or that of a struct of the wire that shows the same."""
    yield f"## {title}"
    yield _doc(kind)
    yield _table(["Field", "What it is"], _field_rows(kind.__struct_fields__, kind, *others))


def _tick() -> Iterator[str]:
    yield from _fields("Tick", Tick)
    yield f"**Outcome:** {', '.join(f'`{word}`' for word in TickOutcome)}. [Their reasons](schedules.md#the-ledger)."


def _event() -> Iterator[str]:
    yield "## Event"
    yield _doc(Event) + " `event.as_dict()` gives these fields as a dict, `event.cloud_event()` those of CloudEvents."
    yield _table(["Field", "What it is"], _field_rows(EventShown.__struct_fields__, EventShown))


def _matched() -> Iterator[str]:
    yield from _described("What an event matched: what `bell.events.matches` gives", Matched)
    yield f"**Outcome:** {', '.join(f'`{word}`' for word in MatchOutcome)}."


def _settings_of_an_endpoint() -> Iterator[str]:
    yield "## Settings of an endpoint"
    yield "For `bell.webhooks.add(url, …)` and `bell.webhooks.update(id, …)`."
    yield _table(["Setting", "Type", "What it does"], _rows_of(endpoints, "EndpointSettings"))


def _verify() -> Iterator[str]:
    yield "## Verify a webhook: `workbell.webhooks`"
    yield f"### `verify{_signature(signature.verify)}`"
    yield _doc(signature.verify)


def _remote() -> Iterator[str]:
    """Not its verbs, which are those of a Workbell: only what is its own."""
    from workbell.remote.client import Client as Remote

    yield "## Client: the verbs over HTTP"
    yield f"`Client{_signature(Remote.__init__)}`"
    yield _doc(Remote)
    yield "[Its page](../how-to/remote-client.md) says which verbs it has; they take and answer the same as here."


def _run() -> Iterator[str]:
    yield "## Run"
    yield _doc(Run) + " `run.as_dict()` gives these fields as a dict."
    yield _table(["Field", "What it is"], _field_rows(RunShown.__struct_fields__, RunShown))
    yield f"**Status:** {', '.join(f'`{status}`' for status in Status)}. " + _doc(Status)
    yield "## Attempt"
    fields = [*Attempt.__struct_fields__, "result", "error_type"]
    yield _doc(Attempt) + f" Fields: {', '.join(f'`{name}`' for name in fields)}."
    yield f"**Status of an attempt:** {', '.join(f'`{status}`' for status in AttemptStatus)}."


def _field_rows(names: Iterable[str], *kinds: type[msgspec.Struct]) -> list[list[str]]:
    """Rows of fields, each with the first word that the structs have about it."""
    described = [get_type_hints(kind, include_extras=True) for kind in kinds]
    return [[f"`{name}`", _about(name, kinds[0].__name__, described)] for name in names]


def _about(name: str, kind: str, described: list[dict[str, Any]]) -> str:
    words = MODEL_FIELDS.get(f"{kind}.{name}")
    if words is not None:
        _used.add(f"{kind}.{name}")
        return words
    hints = [hints[name] for hints in described if name in hints]
    words = next(filter(None, map(_meta_words, hints)), None)
    if words is None:
        words = PLAIN_FIELDS.get(name)
        _used.add(name)
    if words is None:
        raise SystemExit(f"docs/generate.py: nothing says what {kind}.{name} means; give the field a description.")
    words = NULL.sub("None", words)  # in Python's words
    if "`" not in words:
        words += next(filter(None, map(_examples, hints)), "")
    return words.replace("|", "\\|")


def _examples(hint: Any) -> str:
    """The values that a field can have, or one of them."""
    bare, *metas = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    for kind in get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,):
        if isinstance(kind, type) and issubclass(kind, Enum):
            return f" One of {', '.join(f'`{one.value}`' for one in kind)}."
    shown = [one for meta in metas if isinstance(meta, msgspec.Meta) for one in meta.examples or ()]
    return next((f" Example: `{one}`." for one in shown if isinstance(one, str) and one not in (RUN_ID, AT)), "")


def _settings() -> Iterator[str]:
    fields = msgspec.structs.fields(Settings)
    _complete("SETTINGS", SETTINGS, [field.name for field in fields])
    yield "## Settings"
    yield (
        "A flag of the command line or an argument wins over the environment, the environment over "
        "`workbell.toml` (the one in this folder or the nearest above), and that over the default. "
        "Spans are in seconds. `WORKBELL_TRUST`, of the environment alone, names "
        "[folders whose files are trusted](../how-to/trust-and-modes.md)."
    )
    rows = [
        [f"`{field.name}`", _default(field.default), f"`{ENVIRONMENT}{field.name.upper()}`", SETTINGS[field.name]]
        for field in fields
    ]
    yield _table(["Setting", "Default", "Environment", "What it does"], rows)


def _errors() -> Iterator[str]:
    yield "## Errors"
    yield "All of them are kinds of `WorkbellError`. The last column is what the command line exits with."
    yield _table(["Error", "A kind of", "When", "Exit code"], [*_error_rows(WorkbellError)])


def _error_rows(kind: type[WorkbellError]) -> Iterator[list[str]]:
    parent = kind.__bases__[0]
    yield [f"`{kind.__name__}`", f"`{parent.__name__}`", _first_line(kind), str(kind.exit_code)]
    for child in kind.__subclasses__():
        if child.__name__ in workbell.__all__:
            yield from _error_rows(child)


def _testing() -> Iterator[str]:
    from workbell import testing

    yield "## Names in `workbell.testing`"
    yield _doc(testing)
    rows = []
    for name in testing.__all__:
        value = getattr(testing, name)
        signature = _signature(value) if inspect.isfunction(value) else ""
        rows.append([f"`{name}{signature}`", _first_line(value)])
    yield _table(["Name", "What it is"], rows)


def _command_line() -> Iterator[str]:
    from workbell.cli import main as module

    root = next(value for value in vars(module).values() if isinstance(value, click.Group))
    yield "## Command line"
    yield _plain(root.help or "")
    yield from _command_options(root)
    yield from _commands(root, click.Context(root, info_name="workbell"))


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    """Not click's own help page, whose form changes from version to version."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        arguments = [one.human_readable_name for one in command.params if isinstance(one, click.Argument)]
        yield f"### `{' '.join([context.command_path, name, *arguments])}`"
        yield _plain(command.help or "")
        if not isinstance(command, LazyGroup) and isinstance(group, LazyGroup) and not is_capable(command):
            yield "Does not work over a service (`--service`)."
        yield from _command_options(command)
        if isinstance(command, click.Group):
            yield from _commands(command, click.Context(command, context, name))


def _command_options(command: click.Command) -> Iterator[str]:
    options = [option for option in command.params if isinstance(option, click.Option)]
    rows = [[_option(option), _meaning(option)] for option in options if not option.hidden]
    if rows:
        yield _table(["Option", "What it does"], rows)


def _option(option: click.Option) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {option.metavar or _kind(option.type)}"
    return _code(names + value)


def _kind(kind: Any) -> str:
    if isinstance(kind, click.Choice):
        return "|".join(map(str, kind.choices))
    if isinstance(kind, click.IntRange):
        return f"{kind.min}…{'' if kind.max is None else kind.max}"
    return str(kind.name).upper()


def _meaning(option: click.Option) -> str:
    needed = " Needed." if option.required else ""
    default = f" Default: {option.default}." if option.show_default and not option.is_flag else ""
    return f"{option.help or ''}{needed}{default}"


def _plain(text: str) -> str:
    """Help of a command as prose: its lines are wrapped for the source."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _complete(what: str, given: dict[str, str], wanted: list[str]) -> None:
    wrong = set(given) ^ set(wanted)
    if wrong:
        raise SystemExit(f"docs/generate.py: {what} does not fit the code: {', '.join(sorted(wrong))}.")


def _doc(value: object) -> str:
    return inspect.getdoc(value) or ""


def _first_line(value: object) -> str:
    return _doc(value).partition("\n")[0]


def _default(value: object) -> str:
    return "needed" if value is msgspec.NODEFAULT else _code(repr(value))


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace(chr(10), ' ') for cell in line)} |" for line in lines)


def http_page() -> str:
    """Every route of the API, with the scope that it needs."""
    parts = [
        "# Routes of the HTTP API",
        "This page is made from the code by `docs/generate.py`. Do not edit it by hand.",
        "[The HTTP API](../how-to/http-api.md) says how they are used; parameters, bodies and answers are at `/docs` "
        "and `/openapi.json` of the service. The scope is what a token must allow; – means none, and *any* that every "
        "valid token will do. A ● takes an `Idempotency-Key`.",
    ]
    for resource in sorted(RESOURCES, key=lambda one: one.resource):
        rows = [_operation(operation) for operation in resource]
        head = f"## {resource.resource.capitalize()}"
        parts += [head, _table(["Method and path", "Scope", "", "What it does"], rows)]
    rows = [[f"`{path}`", scope, text] for path, scope, text in PAGES]
    parts += ["## Beside the API", _table(["Method and path", "Scope", "What it does"], rows)]
    return "\n\n".join(parts) + "\n"


def _operation(operation: Operation[Any]) -> list[str]:
    scope = "–" if operation.open else "*any*" if operation.scope is None else f"`{operation.scope}`"
    key = "●" if IDEMPOTENCY_KEY in operation.all_headers else ""
    return [f"`{operation.method} {PREFIX}{operation.path}`", scope, key, operation.text.partition("\n")[0]]


def main() -> None:
    for name, text in (("api.md", page()), ("http.md", http_page())):
        file = FOLDER / name
        if "--check" not in sys.argv[1:]:
            file.write_text(text, "utf-8")
        elif not file.is_file() or file.read_text("utf-8") != text:
            raise SystemExit(f"docs/reference/{name} is not up to date; run `python docs/generate.py`.")


if __name__ == "__main__":
    main()
