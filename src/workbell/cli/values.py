"""Parameter types of options: instant, span, window, JSON. Click reports invalid values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click
import msgspec

from workbell.errors import InvalidOption, JobsError
from workbell.model.job import name
from workbell.model.run_settings import read_user
from workbell.model.size import read_size
from workbell.model.users import UserId
from workbell.timing.instants import read_instant
from workbell.timing.interval import read_span

if TYPE_CHECKING:
    Kind = click.ParamType[Any]
else:
    Kind = click.ParamType  # older versions of click give it no parameter


class Instant(Kind):
    """A time as in RFC 3339; without a zone it names no instant, and is refused."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            return value if isinstance(value, datetime) else read_instant(str(value).strip())
        except JobsError as error:
            self.fail(str(error), param, ctx)


class Span(Kind):
    """`90` (seconds), `90s`, `1h30m`, `2d`."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        text = str(value).strip()
        try:
            return read_span(f"{text}s" if text[-1:].isdigit() else text)
        except JobsError as error:
            self.fail(str(error), param, ctx)


class TimesOfDay(Kind):
    """`02:00-06:00`; invalid times are reported where they are used."""

    name = "window"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        start, dash, end = str(value).replace("–", "-").partition("-")
        if not dash:
            self.fail(f"{value!r} is not a pair of times of day; write one such as 02:00-06:00.", param, ctx)
        return start.strip(), end.strip()


class JsonObject(Kind):
    """The arguments of a run: `{"to": "a@b.c"}`."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        try:
            found = msgspec.json.decode(str(value))
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            self.fail(f'{error}; write JSON such as \'{{"to": "a@b.c"}}\'.', param, ctx)
        if not isinstance(found, dict):
            self.fail('expected an object with the arguments by name, such as \'{"to": "a@b.c"}\'.', param, ctx)
        return found


class Size(Kind):
    """`512MB`, `2GB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return read_size(self.name, value)
        except InvalidOption as error:
            self.fail(str(error), param, ctx)


class When(Kind):
    """A time to come, or how long until then: `12h`, `30d`."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime | timedelta:
        kind = INSTANT if ":" in str(value) else SPAN
        found: datetime | timedelta = kind.convert(value, param, ctx)
        return found


class User(Kind):
    """The id of a user: a number, or a text such as a UUID."""

    name = "user"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> UserId:
        try:
            return read_user(value)
        except InvalidOption as error:
            self.fail(str(error), param, ctx)


class Since(Kind):
    """A time that has passed, or how long ago it was by this machine's clock: `2h`, `3d`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            return datetime.now(UTC) - read_span(text) if text[-1:] in "smhdw" else read_instant(text)
        except JobsError as error:
            self.fail(f"{str(error).removesuffix('.')}, or how long ago, such as 2h or 3d.", param, ctx)


class TenantName(Kind):
    """A usable name; also `*`, which some commands take for all tenants."""

    name = "tenant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return name("tenant", value, InvalidOption)
        except InvalidOption as error:
            self.fail(str(error), param, ctx)


INSTANT, SPAN, WINDOW, JSON, SIZE, WHEN = Instant(), Span(), TimesOfDay(), JsonObject(), Size(), When()
SINCE, USER, TENANT = Since(), User(), TenantName()
