"""Writes docs/reference/api.md from the code itself; `--check` only says whether the page is up to date.

Everything on that page comes from signatures, docstrings and the command line's own help, in the order of the
source, so that two runs give the same text. The few words that the code does not carry (what a setting or a
field of a run means) stand here, and it is an error if one is missing or too many.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

import workbell
from workbell import Attempt, Cancel, Context, Retry, Run, Snooze, Status, Workbell, WorkbellError
from workbell.client import Client
from workbell.handlers.job_function import Enqueuer, JobFunction
from workbell.model import request
from workbell.model.run import PUBLIC_FIELDS, AttemptStatus
from workbell.settings import PREFIX, Settings

PAGE = Path(__file__).parent / "reference" / "api.md"

SETTINGS = {
    "url": "Where the store is: `sqlite:///file.db`, `sqlite:////absolute/file.db`, `postgresql://…` or "
    "`memory://`. In `workbell.toml` a file without a leading slash lies beside that one.",
    "app": "Where the command line finds your `Workbell`, as `module:name`.",
    "tenant": "The tenant whose runs the verbs make and see.",
    "log_level": "`debug`, `info`, `warning` or `error`.",
    "concurrency": "How many handlers run at once in one process. From 1 to 10,000.",
    "lease": "How long a worker holds a run without renewing. From 0.5 to 86,400.",
    "sweep": "How often each process looks for leases that ran out. From 0.05 to 3,600.",
    "poll": "How often a worker looks for work if no hint reaches it. From 0.005 to 60.",
    "grace": "How long a stopping worker waits for its handlers. From 0 to 86,400.",
    "keep_succeeded": "How long succeeded runs stay in history.",
    "keep_other": "How long failed and canceled runs stay in history.",
}

RUN = {
    "id": "Its id, a UUID of version 7: ids sort by the time they were made.",
    "job": "The name of the job.",
    "status": "One of the six words; see below.",
    "attempt": "How often a worker has started it.",
    "failures": "How often its handler has failed: what the retry policy counts.",
    "losses": "How often its worker was lost.",
    "scheduled_for": "When it is due, or was.",
    "started_at": "When the current or last attempt began.",
    "finished_at": "When it ended.",
    "input": "The arguments, by name.",
    "result": "What the handler returned.",
    "error": "What went wrong last: the error on the first line, the traceback below.",
    "reason": "Why it is where it is: `error`, `timeout`, `payload`, `result`, `worker lost`, `crashed`, "
    "`expired`, or the text given to `cancel`.",
    "queue": "The queue it belongs to.",
    "priority": "From -100 to 100; higher first.",
    "tag": "The word given with `tag=`.",
    "key": "The word given with `key=`.",
    "user_id": "Whom it belongs to; 0 is the system.",
    "tenant": "The tenant it belongs to.",
    "schedule": "The schedule that made it. Always empty for now.",
    "event": "The event that made it. Always empty for now.",
    "target": "The agent that is to run it; no worker of this version takes a run with a target.",
    "retry_of": "The finished run that this one repeats (`bell.retry`).",
    "rescheduled_from": "The failed run that this one follows (`auto_reschedule=`).",
    "persistent": "False: it ends if the process that enqueued it is restarted before it starts.",
    "expires_at": "Not started by then: canceled.",
    "remove_at": "When it is removed from history.",
    "progress": '`{"done", "total", "message"}` as last reported by the handler.',
    "created_at": "When it was asked for.",
    "updated_at": "When it last moved.",
}


OTHER_WORDS = {
    "Workbell.resume": "Take up again what `pause` stopped.",
    "Enqueuer.request": "As for the job itself, with the options.",
    "Enqueuer.enqueue": "As for the job itself, with the options.",
}

OTHER_OPTIONS = {
    "queue": "Another queue than the job's own.",
    "tenant": "Another tenant than the caller's.",
    "retry": "Another retry policy than the job's own.",
    "timeout": "Another limit than the job's own for one attempt.",
}


def page() -> str:
    """The whole page."""
    parts = [
        "# Reference",
        "This page is made from the code by `docs/generate.py`. Do not edit it by hand.",
        *_names(),
        *_class("Workbell", Workbell, [Workbell, Client]),
        *_class("A job: what `@bell.job` makes", JobFunction, [JobFunction]),
        *_class("A job with options: what `job.options(…)` makes", Enqueuer, [Enqueuer]),
        *_options(),
        *_class("Context", Context, [Context]),
        *_struct("Retry", Retry),
        *_struct("Cancel", Cancel),
        *_struct("Snooze", Snooze),
        *_run(),
        *_settings(),
        *_errors(),
        *_testing(),
        *_command_line(),
    ]
    return "\n\n".join(parts) + "\n"


def _names() -> Iterator[str]:
    yield "## Names in `workbell`"
    rows = []
    for name in workbell.__all__:
        value = getattr(workbell, name)
        rows.append([f"`{name}`", "The version, a text." if isinstance(value, str) else _first_line(value)])
    yield _table(["Name", "What it is"], rows)


def _class(title: str, kind: type, bases: list[type]) -> Iterator[str]:
    """A class with its public methods; an async twin is named beside its verb instead of listed."""
    yield f"## {title}"
    yield _doc(kind)
    methods: dict[str, Any] = {}
    for base in bases:
        methods |= {
            name: value for name, value in vars(base).items() if _is_public(name, value) and name not in methods
        }
    for name, value in methods.items():
        if _verb_of(name, methods) is not None:
            continue
        yield f"### `{name}{_signature(value)}`"
        twin = next((other for other in methods if _verb_of(other, methods) == name), None)
        text = _doc(value.fget if isinstance(value, property) else value)
        text = text or OTHER_WORDS[f"{kind.__name__}.{name}"]
        yield f"{text} Async: `{twin}`." if twin else text


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
            text += f"={parameter.default!r}"
        shown.append(text)
    return f"({', '.join(shown)})"


def _options() -> Iterator[str]:
    """The options of an enqueue. Their words stand below each field, where only a parser sees them."""
    yield "## Options of an enqueue"
    yield (
        "For `job.options(…).enqueue(…)` and as keywords of `bell.enqueue(name, payload, …)`. "
        "Spans are seconds or a `timedelta`; times must have a zone."
    )
    tree = ast.parse(inspect.getsource(request))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "EnqueueOptions")
    rows = []
    for place, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            after = body[place + 1] if place + 1 < len(body) else None
            name, text = node.target.id, ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = str(after.value.value)
            rows.append([f"`{name}`", _code(ast.unparse(node.annotation)), text or OTHER_OPTIONS[name]])
    yield _table(["Option", "Type", "What it does"], rows)


def _struct(title: str, kind: type[msgspec.Struct]) -> Iterator[str]:
    yield f"## {title}"
    yield _doc(kind)
    hints = inspect.get_annotations(kind)
    rows = [
        [f"`{field.name}`", _code(str(hints[field.name])), _default(field.default)]
        for field in msgspec.structs.fields(kind)
    ]
    yield _table(["Field", "Type", "Default"], rows)


def _run() -> Iterator[str]:
    _complete("RUN", RUN, PUBLIC_FIELDS)
    yield "## Run"
    yield _doc(Run) + " `run.as_dict()` gives these fields as a dict."
    yield _table(["Field", "What it is"], [[f"`{name}`", RUN[name]] for name in PUBLIC_FIELDS])
    yield f"**Status:** {', '.join(f'`{status}`' for status in Status)}. " + _doc(Status)
    yield "## Attempt"
    yield _doc(Attempt) + f" Fields: {', '.join(f'`{name}`' for name in Attempt.__struct_fields__)}."
    yield f"**Status of an attempt:** {', '.join(f'`{status}`' for status in AttemptStatus)}."


def _settings() -> Iterator[str]:
    fields = msgspec.structs.fields(Settings)
    _complete("SETTINGS", SETTINGS, [field.name for field in fields])
    yield "## Settings"
    yield (
        "A flag of the command line or an argument wins over the environment, the environment over "
        "`workbell.toml` (the one in this folder or the nearest above), and that over the default. "
        "Spans are in seconds."
    )
    rows = [
        [f"`{field.name}`", _default(field.default), f"`{PREFIX}{field.name.upper()}`", SETTINGS[field.name]]
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
    yield from _commands(root, click.Context(root, info_name="workbell"))


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    """Not click's own help page, whose form changes from version to version."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"### `{context.command_path} {name}`"
        yield _plain(command.help or "")
        options = [option for option in command.params if isinstance(option, click.Option)]
        rows = [[_option(option), _meaning(option)] for option in options if not option.hidden]
        if rows:
            yield _table(["Option", "What it does"], rows)
        if isinstance(command, click.Group):
            yield from _commands(command, click.Context(command, context, name))


def _option(option: click.Option) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {option.metavar or _kind(option.type)}"
    return _code(names + value)


def _kind(kind: Any) -> str:
    if isinstance(kind, click.Choice):
        return "|".join(map(str, kind.choices))
    if isinstance(kind, click.IntRange):
        return f"{kind.min}…{kind.max}"
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


def main() -> None:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, "utf-8")
        return
    if not PAGE.is_file() or PAGE.read_text("utf-8") != text:
        raise SystemExit("docs/reference/api.md is not up to date; run `python docs/generate.py`.")


if __name__ == "__main__":
    main()
