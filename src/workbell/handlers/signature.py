"""Validates the input of a run against the type hints of its function: at the enqueue, and again at the start."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from workbell.errors import InvalidInput, JobsError
from workbell.handlers.context import Context
from workbell.handlers.input_schema import input_schema
from workbell.model.json_text import encode, encode_other
from workbell.model.merge_patch import merge_patch
from workbell.model.request import NAMES as OPTIONS

_WITH_PATH = re.compile("(.*) - at `([^`]*)`", re.DOTALL)
PLAIN = frozenset({str, int, float, bool, type(None)})  # values that cannot have bytes in them
BYTES = (bytes, bytearray, memoryview)
ENVELOPE = ["args", "kwargs"]  # of the handler of a Django task, whose own arguments are in these two
_QUOTED = re.compile("`([^`]*)`")


class Signature:
    """Parameters of one function, without its context."""

    def __init__(self, job: str, function: Callable[..., Any]) -> None:
        self.job = job
        try:
            parameters = list(inspect.signature(function).parameters.values())
            hints = typing.get_type_hints(function, include_extras=True)
        except (NameError, TypeError, ValueError) as error:
            raise JobsError(f"job {job}: its parameters cannot be read: {error}.") from error
        self.wants_context = bool(parameters) and _is_context(parameters[0], hints)
        if self.wants_context:
            parameters = parameters[1:]
        self._parameters, self._hints = parameters, hints
        self._names: list[str] = []
        self._positional: list[str] = []
        self._open = False
        fields: list[Any] = []
        for parameter in parameters:
            if parameter.kind is parameter.VAR_KEYWORD:
                self._open = True
                continue
            if parameter.kind is parameter.VAR_POSITIONAL or parameter.kind is parameter.POSITIONAL_ONLY:
                raise JobsError(
                    f"job {job}: the parameter {parameter.name!r} cannot be given by name; arguments are stored by "
                    "name, so use ordinary parameters."
                )
            kind = hints.get(parameter.name, Any)
            self._names.append(parameter.name)
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                self._positional.append(parameter.name)
            fields.append(_field(parameter, kind))
        arguments = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=not self._open)
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._struct = arguments
        self._fields = fields
        try:
            self._decoder = msgspec.json.Decoder(arguments, dec_hook=_decode_other)
        except TypeError as error:
            raise JobsError(f"job {job}: {error}; use types that JSON can carry.") from error

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """The arguments as JSON Schema, with the defaults that JSON can carry."""
        return input_schema(self._struct, self._defaults)

    @property
    def in_words(self) -> str:
        """The arguments as Python would declare them: `to: str, copies: int = 1`."""
        return ", ".join(
            str(parameter.replace(annotation=self._hints.get(parameter.name, parameter.empty)))
            for parameter in self._parameters
        )

    @property
    def arguments(self) -> list[str] | None:
        """Names of the arguments; None if it takes any."""
        return None if self._open else self._names

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments of a call, by name."""
        if not args:
            return kwargs
        if len(args) > len(self._positional):
            raise InvalidInput(
                f"job {self.job} takes {len(self._positional)} arguments by position, and {len(args)} were given."
            )
        bound = dict(zip(self._positional, args, strict=False))
        twice = bound.keys() & kwargs.keys()
        if twice:
            raise InvalidInput(f"job {self.job}: the argument {min(twice)!r} was given twice.")
        return bound | kwargs

    def encode(self, arguments: dict[str, Any]) -> str:
        """Arguments as JSON, checked against the signature."""
        text = encode(f"job {self.job}: the input", arguments)
        if not PLAIN.issuperset(map(type, arguments.values())):
            self._refuse_bytes(arguments)
        self._check(text)
        return text

    def encode_onto(self, template: dict[str, Any], arguments: dict[str, Any]) -> str:
        """Arguments merged onto an input template (RFC 7396), as JSON; what comes of it is checked."""
        given = encode(f"job {self.job}: the input", arguments)
        if not PLAIN.issuperset(map(type, arguments.values())):
            self._refuse_bytes(arguments)
        return self.encode(merge_patch(template, msgspec.json.decode(given)))

    def _refuse_bytes(self, arguments: dict[str, Any]) -> None:
        """Raise for bytes given for a text: JSON would carry them, and the handler get them, as base64."""
        try:
            _read_plainly(arguments, self._struct)
        except (TypeError, msgspec.ValidationError):
            for name, value in arguments.items():  # one by one: msgspec stops at the first error
                self._refuse_bytes_in(name, value)

    def _refuse_bytes_in(self, name: str, value: Any) -> None:
        alone = [(name, kind) for known, kind, *_ in self._fields if known == name]
        try:
            _read_plainly({name: value}, msgspec.defstruct("Argument", alone))
        except TypeError:
            why = "a dict in it has a key that is neither a text nor a number"
            raise InvalidInput(f"job {self.job}: the argument {name!r}: {why}; convert its keys.") from None
        except msgspec.ValidationError as error:
            if "got `bytes`" in str(error):  # whatever else does not fit is seen in the JSON
                wrong = self._sentence(str(error))
                raise InvalidInput(f"job {self.job}: {wrong}; decode them first, as in value.decode().") from None

    def _check(self, text: str) -> Any:
        try:
            return self._decoder.decode(text)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise InvalidInput(f"job {self.job}: {self._sentence(str(error))}.") from error

    def _sentence(self, message: str) -> str:
        """Error message of msgspec, rewritten for arguments."""
        with_path = _WITH_PATH.fullmatch(message)
        text, path = with_path.groups() if with_path else (message, "")
        path = path.replace("$.", "").replace("$", "")
        name = next(iter(_QUOTED.findall(text)), "")
        known = f"the arguments are {', '.join(self._names)}" if self._names else "it takes none"
        if text.startswith("Object missing required field"):
            if path:
                return f"the argument {path!r} lacks the field {name!r}"
            return f"the argument {name!r} is missing; {known}"
        if text.startswith("Object contains unknown field"):
            if path:
                return f"the argument {path!r} has no field {name!r}"
            if name in OPTIONS:
                known += f"; {name} is an option of the run: {self.job}.options({name}=…).enqueue(…)"
            if self._names == ENVELOPE:
                known += ': {"args": […], "kwargs": {…}}'
            return f"there is no argument {name!r}; {known}"
        words = text.replace("`", "")
        return f"the argument {path!r}: {words[:1].lower()}{words[1:]}" if path else words

    def decode(self, text: str | None) -> dict[str, Any]:
        """Decode the arguments into the function's types; those not given are left to its defaults."""
        if text is None or text == "{}":
            if not self._names or len(self._defaults) == len(self._names):
                return {}
            text = "{}"
        checked = self._check(text)
        values = msgspec.structs.asdict(checked)
        if self._defaults:
            values = {name: value for name, value in values.items() if value is not msgspec.UNSET}
        if self._open:
            extra = msgspec.json.decode(text)
            values |= {name: value for name, value in extra.items() if name not in values}
        return values


def _is_context(parameter: inspect.Parameter, hints: dict[str, Any]) -> bool:
    kind = hints.get(parameter.name)
    return kind is Context or (kind is None and parameter.name == "ctx")


def _field(parameter: inspect.Parameter, kind: Any) -> Any:
    """Field of a parameter; one with a default may be missing in the input."""
    if parameter.default is parameter.empty:
        return (parameter.name, kind)
    return (parameter.name, kind | msgspec.UnsetType if not isinstance(kind, str) else kind, msgspec.UNSET)


def _read_plainly(arguments: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    """Convert arguments to a type without JSON, which would make texts of bytes."""
    plain = msgspec.to_builtins(arguments, builtin_types=BYTES, str_keys=True, enc_hook=encode_other)
    msgspec.convert(plain, kind, builtin_types=BYTES, str_keys=True, dec_hook=_unread)


def _unread(kind: type, _value: Any) -> Any:
    """Stand-in for a model that is not read here: it encodes itself as JSON, and is checked then."""
    return object.__new__(kind)


def _decode_other(kind: type, value: Any) -> Any:
    validate = getattr(kind, "model_validate", None)
    if callable(validate):
        try:
            return validate(value)
        except ValueError as error:  # msgspec adds where in the input it happened
            raise ValueError(" ".join(str(error).split())) from error
    raise TypeError(f"{kind.__qualname__} cannot be read from JSON; use a dataclass or plain values")
