"""Generator of src/workbell/remote/verbs.py: the verbs of `workbell.Client`, with the signatures of the local client.

Each verb of the local client that an operation of the wire's table stands for, or a plan of remote/plans, is written
with its parameters, types and docstring, sync and async.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from workbell.app import Workbell
from workbell.client.local import LocalClient
from workbell.process.first_use import on_first_use
from workbell.remote import plans
from workbell.wire.table import OPERATIONS

FILE = Path(__file__).parent.parent / "src/workbell/remote/verbs.py"

# Verbs that need objects of one process, or that the service does by itself.
NOT_REMOTE = {
    "for_tenant": "made by the client itself",
    "close": "made by the client itself",
    "request": "made by the client itself",
    "enqueue_many": "made by the client itself",
    "watch": "made by the client itself",
    "runs.watch": "made by the client itself",
    "awatch": "made by the client itself",
    "runs.awatch": "made by the client itself",
    "events.tail": "made by the client itself",
    "schedules.put_all": "for what code declares",
    "schedules.update_if": "over HTTP, `If-Match` says it",
    "schedules.delete_if": "over HTTP, `If-Match` says it",
    "after_commit": "needs the transaction of the program",
    "lifespan": "for an application that works",
    "running": "for an application that works",
    "schedules.check": "for what code declares",
    "schedules.disable_others": "for what code declares",
    "triggers.processors": "needs the functions behind the jobs",
    "webhooks.seal": "with the keys of the server, which never leave it",
    "audit.add": "the service notes what is done, and by whom",
    "tokens.check": "for who is handed a token: the service",
    "tokens.redeem": "for who is handed a token: the service",
    "agents.pair": "what an agent does, not a client",
    "agents.working": "what an agent does, not a client",
}
# Parameters that the service, the token or a header stands for.
LEFT_OUT: dict[str, set[str]] = {
    "jobs.put": {"expected"},
    "jobs.update": {"expected"},
    "jobs.enable": {"expected"},
    "jobs.disable": {"expected"},
    "jobs.delete": {"expected"},
    "triggers.update": {"expected"},
    "triggers.delete": {"expected"},
    "tokens.create": {"kind", "agent", "created_by"},
    "agents.pairing": {"created_by"},
    "notifications.list": {"user_id"},
    "notifications.mark_read": {"user_id"},
}
# Answers of the service that are other values than those of the store.
RETURNED = {
    "Run": "RunShown",
    "RunPage": "FoundRunPage",
    "NewToken": "RemoteNewToken",
    "NewEndpoint": "RemoteNewEndpoint",
    "Endpoint": "EndpointShown",
}
RETURNED_BY = {
    "enqueue": "MadeRun",
    **dict.fromkeys(("get", "runs.get", "wait", "runs.wait"), "FoundRun"),
    "runs.__call__": "list[FoundRun]",
}
OWN_NAMES = {
    "EndpointShown": "workbell.wire.webhooks",
    "FoundRun": "workbell.wire.runs",
    "FoundRunPage": "workbell.remote.values",
    "MadeRun": "workbell.wire.runs",
    "RemoteNewEndpoint": "workbell.remote.values",
    "RemoteNewToken": "workbell.remote.values",
    "RunShown": "workbell.wire.runs",
}
HEAD = '''"""Verbs of `workbell.Client`, made from the local client and the wire's table by `make generate`."""'''


PLAIN = ""  # of a module that is imported by its own name


class Verb(NamedTuple):
    """A verb of a part; without a part, of the client itself."""

    part: str
    name: str
    function: Callable[..., Any]

    @property
    def path(self) -> str:
        return f"{self.part}.{self.name}" if self.part else self.name

    @property
    def twin(self) -> str:
        return {"wait": "await_", "__call__": "acall"}.get(self.name, f"a{self.name}")

    @property
    def plan(self) -> str:
        return self.path.replace(".", "_").replace("__call__", "call")


def parts() -> dict[str, type]:
    """The parts of the local client, by their attributes; and agents, which a Workbell alone has here."""
    names = [name for name, value in vars(LocalClient).items() if isinstance(value, on_first_use)]
    with Workbell("memory://") as bell:
        return {name: type(getattr(bell, name)) for name in [*names, "agents"] if name != "verified"}


def verbs_of(part: str, kind: type) -> Iterator[Verb]:
    """The sync verbs of a part, in the order of its source."""
    for name, value in vars(kind).items():
        if not inspect.isfunction(value) or (name.startswith("_") and name != "__call__"):
            continue
        if inspect.iscoroutinefunction(inspect.unwrap(value)) or inspect.iscoroutinefunction(value):
            continue
        verb = Verb(part, name, inspect.unwrap(value))
        if verb.path not in NOT_REMOTE:
            yield verb


def top_verbs() -> Iterator[Verb]:
    """The verbs of the client itself: delegates to its parts, and rounds."""
    for kind in (LocalClient, Workbell):
        for name, value in vars(kind).items():
            wrapped = getattr(value, "__wrapped__", None)
            if wrapped is None or name.startswith("_") or inspect.iscoroutinefunction(value) or name in NOT_REMOTE:
                continue
            yield Verb("", name, inspect.unwrap(wrapped))


@cache
def _imports(module: str) -> dict[str, str]:
    """Where the names of a module come from."""
    source = inspect.getsource(import_module(module))
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {name.asname or name.name: node.module for name in node.names}
        if isinstance(node, ast.Import):
            found |= {name.name: PLAIN for name in node.names}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = module
        if isinstance(node, ast.Assign):
            found |= {target.id: module for target in node.targets if isinstance(target, ast.Name)}
    return found


class Writer:
    """Text of the module, and the names that it needs."""

    def __init__(self) -> None:
        self.needed: dict[str, str] = {}
        self.operations = {operation.verb or operation.name: operation for operation in OPERATIONS}
        self.missing: list[str] = []

    def annotation(self, verb: Verb, text: str, *, returned: bool = False) -> str:
        if returned:
            if verb.path in RETURNED_BY:
                text = RETURNED_BY[verb.path]
            else:
                text = "|".join(RETURNED.get(part, part) for part in [text]) if text in RETURNED else text
                text = re.sub(
                    r"\b(Run|RunPage|NewToken|NewEndpoint|Endpoint)\b", lambda found: RETURNED[found[1]], text
                )
                if verb.part == "webhooks":
                    text = text.replace("dict[str, Any]", "EndpointShown")
        known = _imports(verb.function.__module__)
        for name in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text):
            module = OWN_NAMES.get(name) or known.get(name)
            if module is not None and module != "__future__":
                self.needed[name] = module
        return re.sub(r"(?<![.\w])list\[", "builtins.list[", text)

    def method(self, verb: Verb, part: str | None = None) -> str | None:
        """The verb and its async twin; with `part` they call those of a part."""
        signature = inspect.signature(verb.function)
        left_out = LEFT_OUT.get(verb.path, set())
        kept = [one for one in signature.parameters.values() if one.name != "self" and one.name not in left_out]
        call = None if part is not None else self.call(verb, kept)
        if part is None and call is None:
            self.missing.append(verb.path)
            return None
        shown = [self.parameter(verb, one) for one in kept]
        first_keyword = next((at for at, one in enumerate(kept) if one.kind is one.KEYWORD_ONLY), None)
        if first_keyword is not None:
            shown.insert(first_keyword, "*")
        returns = self.annotation(verb, str(signature.return_annotation), returned=True)
        text = inspect.getdoc(verb.function) or ""
        text = text.replace("`bell.", "`client.").replace("bell.", "client.")
        ours = ", ".join(["self", *shown])
        lines = [
            f"def {verb.name}({ours}) -> {returns}:",
            textwrap.indent(f'"""{text}\n"""' if "\n" in text else f'"""{text}"""', "    "),
        ]
        statement = "" if returns == "None" else "return "
        held = "_transport" if verb.part else "transport"
        plain, twin = f"self.{held}.follow({call})", f"self.{held}.afollow({call})"
        if part is not None:
            own = Verb(part, verb.function.__name__, verb.function)
            passed = f"({', '.join(map(_passed, kept))})"
            plain, twin = f"self.{own.path}{passed}", f"self.{part}.{own.twin}{passed}"
        lines.append(f"    {statement}{plain}")
        lines += ["", f"async def {verb.twin}({ours}) -> {returns}:", f"    {statement}await {twin}"]
        return textwrap.indent("\n".join(lines), "    ")

    def called(self, part: str, kind: type) -> str:
        """The async twin of a part that is a verb itself: `client.aruns(…)`."""
        verb = Verb(part, "__call__", vars(kind)["__call__"])
        kept = [one for one in inspect.signature(verb.function).parameters.values() if one.name != "self"]
        shown = [self.parameter(verb, one) for one in kept]
        first_keyword = next((at for at, one in enumerate(kept) if one.kind is one.KEYWORD_ONLY), None)
        if first_keyword is not None:
            shown.insert(first_keyword, "*")
        returns = self.annotation(verb, str(inspect.signature(verb.function).return_annotation), returned=True)
        head = f"    async def a{part}({', '.join(['self', *shown])}) -> {returns}:"
        return f"{head}\n        return await self.{part}.acall({', '.join(map(_passed, kept))})"

    def parameter(self, verb: Verb, one: inspect.Parameter) -> str:
        stars = {one.VAR_KEYWORD: "**", one.VAR_POSITIONAL: "*"}.get(one.kind, "")
        found = f"{stars}{one.name}: {self.annotation(verb, str(one.annotation))}"
        if one.default is one.empty:
            return found
        return f"{found} = {_default(one.default)}"

    def call(self, verb: Verb, kept: list[inspect.Parameter]) -> str | None:
        more = next((one.name for one in kept if one.kind is one.VAR_KEYWORD), None)
        plain = [one.name for one in kept if one.kind is not one.VAR_KEYWORD]
        if hasattr(plans, verb.plan):
            given = [f"{name}={name}" for name in plain] + ([f"**{more}"] if more else [])
            return f"plans.{verb.plan}({', '.join(given)})"
        operation = self.operations.get(verb.path)
        if operation is None:
            return None
        items = ", ".join(f'"{name}": {name}' for name in plain)
        return f'ask(BY_VERB["{verb.path}"], {{{items}}}{f", {more}" if more else ""})'


def _passed(one: inspect.Parameter) -> str:
    """A parameter as it is passed on."""
    match one.kind:
        case one.VAR_KEYWORD:
            return f"**{one.name}"
        case one.KEYWORD_ONLY:
            return f"{one.name}={one.name}"
        case _:
            return one.name


def _default(value: object) -> str:
    if isinstance(value, timedelta):
        return f"timedelta(seconds={value.total_seconds():g})"
    return (
        str(value)
        if isinstance(value, float) and value == int(value)
        else repr(str(value) if isinstance(value, str) else value)
    )


def module() -> str:
    """The whole module."""
    writer = Writer()
    classes: list[str] = []
    names: list[tuple[str, str]] = []
    for part, kind in parts().items():
        methods = [text for verb in verbs_of(part, kind) if (text := writer.method(verb)) is not None]
        doc = (inspect.getdoc(kind) or "").partition("\n")[0].replace("bell.", "client.")
        name = f"Remote{kind.__name__}"
        names.append((part, name))
        classes.append(f'class {name}(RemotePart):\n    """{doc}"""\n\n' + "\n\n".join(methods))
    holders = {inspect.unwrap(verb.function): part for part, kind in parts().items() for verb in verbs_of(part, kind)}
    top = [text for verb in top_verbs() if (text := writer.method(verb, holders.get(verb.function))) is not None]
    top += [writer.called(part, kind) for part, kind in parts().items() if "__call__" in vars(kind)]
    rooms = "\n".join(f"        self.{part} = {name}(transport)" for part, name in names)
    classes.append(
        'class ClientVerbs:\n    """The parts of a client, and its most used verbs."""\n\n'
        "    def __init__(self, transport: ServiceTransport) -> None:\n        self.transport = transport\n"
        f"{rooms}\n\n" + "\n\n".join(top)
    )
    if writer.missing:
        raise SystemExit(f"No operation and no plan for: {', '.join(writer.missing)}.")
    return "\n\n\n".join([_top(writer), *classes]) + "\n"


def _top(writer: Writer) -> str:
    needed: dict[str, list[str]] = {}
    for name, where in sorted(writer.needed.items()):
        needed.setdefault(where, []).append(name)
    lines = [f"    import {name}" for name in needed.pop(PLAIN, [])]
    lines += [f"    from {where} import {', '.join(names)}" for where, names in sorted(needed.items())]
    return "\n".join(
        [
            HEAD,
            "",
            "from __future__ import annotations",
            "",
            "import builtins",
            "from datetime import timedelta",
            "from typing import TYPE_CHECKING",
            "",
            "from workbell.remote import plans",
            "from workbell.remote.asking import ask",
            "from workbell.remote.part import RemotePart",
            "from workbell.remote.transport import ServiceTransport",
            "from workbell.wire.table import BY_VERB",
            "",
            "if TYPE_CHECKING:",
            *lines,
        ]
    )
