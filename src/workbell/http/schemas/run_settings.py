"""Settings for all runs of a job, a trigger or a schedule."""

from __future__ import annotations

from pydantic import Field

from workbell.http.schemas.base import Name, RequestBody, Seconds, Shown, User


class RunSettingsBody(RequestBody):
    """Run options; those of the run win over its schedule's or trigger's, and those over its job's."""

    queue: Name | None = None
    priority: int | None = Field(None, ge=-100, le=100)
    timeout: Seconds | None = None
    target: Name | None = Field(None, description="The agent that is to run it, or `label:x`.")
    tag: Name | None = None
    replace_tag: bool | None = Field(None, description="A new run cancels those of the tag that have not started.")
    user_id: User | None = Field(None, description="Whom the runs belong to; 0 is the system.")
    persistent: bool | None = Field(None, description="False: canceled if the process that made it is restarted.")
    auto_reschedule: Seconds | None = Field(None, description="A failed run is followed by a new one after this long.")
    remove_delay: Seconds | None = Field(None, description="How long a run is kept after its end.")
    expires: Seconds | None = Field(None, description="Canceled if not started so long after it was due.")


class RunSettingsShown(Shown):
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
