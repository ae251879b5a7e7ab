"""Webhook endpoints and their deliveries. No answer has a secret in it, but the one that made the secret."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import AT, RUN_ID, RequestBody, Seconds, Shown, When
from workbell.http.schemas.triggers import RetryConfigBody, RetryConfigShown
from workbell.model.run import Status

URL = "https://example.com/hooks"
Url = Annotated[str, Field(min_length=1, max_length=2000)]
Patterns = Annotated[list[Annotated[str, Field(min_length=1, max_length=256)]], Field(min_length=1, max_length=100)]
Headers = dict[str, Annotated[str, Field(max_length=8192)]]
Secret = Annotated[str, Field(min_length=1, max_length=500, description="As `whsec_` and base64; else one is made.")]


class EndpointChange(RequestBody):
    """Changes of an endpoint. Fields that are left out stay; null removes a setting."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"patterns": ["posts.**"]}]})

    url: Url | None = None
    patterns: Patterns | None = None
    headers: Headers | None = Field(None, description="Sent with every delivery; their values are never shown again.")
    description: str | None = Field(None, max_length=1000)
    retry_config: RetryConfigBody | None = Field(None, description="Without it, ten times over three and a half days.")
    rate: str | None = Field(None, max_length=40, examples=["10/s"])
    concurrency: int | None = Field(None, ge=1, le=1_000_000, description="Deliveries at once; without it, 5.")
    timeout: float | None = Field(None, ge=0.1, le=30, description="Seconds for one attempt; without it, 15.")


class EndpointBody(EndpointChange):
    """An endpoint to add: its URL and event patterns."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"url": URL, "patterns": ["posts.*"], "rate": "10/s"}]}
    )

    url: Url
    patterns: Patterns
    secret: Secret | None = None


class RotateBody(RequestBody):
    """Another secret; for the overlap the old one signs as well."""

    secret: Secret | None = None
    overlap: Seconds = Field(86_400, le=3_153_600_000, description="Seconds.")


class DisableBody(RequestBody):
    reason: str = Field("disabled by hand", min_length=1, max_length=500)


class ReplayBody(RequestBody):
    """One event, whatever its outcome, or all since a time that were not delivered."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"since": AT}]})

    event: str | None = Field(None, max_length=100)
    since: When | None = None


class SecretShown(Shown):
    """Since when a secret signs, and until when; never the secret."""

    created_at: datetime
    valid_until: datetime | None


class SlowedShown(Shown):
    """An endpoint that is only tried once a minute."""

    since: datetime = Field(description="When the first attempt of the row failed.")
    waiting: int = Field(description="Deliveries that have not started, counted up to 10,000.", examples=[1163])
    capped: bool = Field(description="There are more, and they were not counted.")


class EndpointShown(Shown):
    """One receiver, and how deliveries to it go."""

    id: str = Field(examples=[RUN_ID])
    url: str = Field(description="Without its query (`?…`), unless the token has the scope operate.", examples=[URL])
    description: str
    patterns: list[str] = Field(examples=[["posts.*"]])
    header_names: list[str] | None = Field(description="None, if they are sealed with a key that is not known here.")
    secrets: list[SecretShown]
    sealed: bool = Field(description="Whether all that is secret about it is stored sealed.")
    enabled: bool
    disabled_reason: str | None
    disabled_at: datetime | None
    retry_config: RetryConfigShown | None
    rate: str | None
    concurrency: int | None
    timeout: float | None
    failures_in_a_row: int
    failing_since: datetime | None
    last_success_at: datetime | None
    last_failure_at: datetime | None
    slowed: SlowedShown | None = Field(
        description="Ten or more attempts in a row have failed: it gets one a minute, until one succeeds."
    )
    tenant: str
    created_at: datetime
    updated_at: datetime


class MadeEndpoint(EndpointShown):
    """An endpoint with a new secret."""

    secret: str | None = Field(
        description="Shown this once; null where an Idempotency-Key repeats the answer.",
        examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )


class Endpoints(Shown):
    items: list[EndpointShown]


class DeliveryShown(Shown):
    """One event on its way to one endpoint."""

    id: str = Field(examples=[RUN_ID])
    endpoint: str
    event: str | None
    status: Status
    attempts: int
    created_at: datetime
    status_code: int | None
    duration_ms: float | None
    answer: str | None = Field(description="The beginning of what the receiver answered.")
    error: str | None
    next_attempt_at: datetime | None
    finished_at: datetime | None


class Deliveries(Shown):
    items: list[DeliveryShown]
