"""Settings for all runs of a job, a trigger or a schedule."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from workbell.wire.fields import Name, Priority, Seconds, User
from workbell.wire.operation import RequestBody, Shown


class RunSettingsBody(RequestBody, frozen=True, kw_only=True):
    """Run options; those of the run win over its schedule's or trigger's, and those over its job's."""

    queue: Name | UnsetType | None = UNSET
    priority: Priority | UnsetType | None = UNSET
    timeout: Seconds | UnsetType | None = UNSET
    target: Annotated[Name | UnsetType | None, Meta(description="The agent that is to run it, or `label:x`.")] = UNSET
    tag: Name | UnsetType | None = UNSET
    replace_tag: Annotated[
        bool | UnsetType | None, Meta(description="A new run cancels those of the tag that have not started.")
    ] = UNSET
    user_id: Annotated[
        User | UnsetType | None,
        Meta(
            description="Whom the runs belong to; 0 is the system, and null nobody. Made without it: the person who "
            "makes it."
        ),
    ] = UNSET
    persistent: Annotated[
        bool | UnsetType | None, Meta(description="False: canceled if the process that made it is restarted.")
    ] = UNSET
    auto_reschedule: Annotated[
        Seconds | UnsetType | None, Meta(description="A failed run is followed by a new one after this long.")
    ] = UNSET
    remove_delay: Annotated[Seconds | UnsetType | None, Meta(description="How long a run is kept after its end.")] = (
        UNSET
    )
    expires: Annotated[
        Seconds | UnsetType | None, Meta(description="Canceled if not started so long after it was due.")
    ] = UNSET


class RunSettingsShown(Shown, frozen=True, kw_only=True):
    """Run options; null: not set, and the next level counts."""

    queue: str | None
    priority: int | None
    timeout: float | None
    target: str | None
    tag: str | None
    replace_tag: bool | None
    user_id: int | str | None
    persistent: bool | None
    auto_reschedule: float | None
    remove_delay: float | None
    expires: float | None
