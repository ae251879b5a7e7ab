"""Webhook endpoints and their deliveries. No answer has a secret in it, but the one that made the secret."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from workbell.model.access import Scope
from workbell.model.delivery import Delivery
from workbell.model.endpoint import BY_HAND, Endpoint, Health
from workbell.model.retry import Retry
from workbell.model.run import Status
from workbell.model.schema_examples import AT, RUN_ID
from workbell.model.unreadable import UNREADABLE, sentence_of
from workbell.wire.fields import Cursor, Limit, Time, When, given
from workbell.wire.operation import (
    IDEMPOTENCY_KEY,
    Items,
    ListPage,
    Operations,
    Query,
    RequestBody,
    Shown,
)
from workbell.wire.runs import AttemptShown, AttemptsQuery
from workbell.wire.triggers import RetryConfigBody, RetryConfigShown

URL = "https://shop.example/hooks"  # an example

Url = Annotated[str, Meta(min_length=1, max_length=2000)]
Patterns = Annotated[list[Annotated[str, Meta(min_length=1, max_length=256)]], Meta(min_length=1, max_length=100)]
Headers = dict[str, Annotated[str, Meta(max_length=8192)]]
Secret = Annotated[str, Meta(min_length=1, max_length=500, description="As `whsec_` and base64; else one is made.")]
NEVER_NULL = ("url", "patterns", "description", "secret")


class DeliverySettings(RequestBody, frozen=True, kw_only=True):
    """Settings of an endpoint besides its URL and patterns."""

    headers: Annotated[
        Headers | UnsetType | None, Meta(description="Sent with every delivery; their values are never shown again.")
    ] = UNSET
    description: Annotated[str, Meta(max_length=1000)] | UnsetType | None = UNSET
    retry_config: Annotated[
        RetryConfigBody | UnsetType | None, Meta(description="Without it, ten times over three and a half days.")
    ] = UNSET
    rate: Annotated[str, Meta(max_length=40, examples=["10/s"])] | UnsetType | None = UNSET
    concurrency: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType | None,
        Meta(description="Deliveries at once; without it, 5."),
    ] = UNSET
    timeout: Annotated[
        Annotated[float, Meta(ge=0.1, le=30)] | UnsetType | None,
        Meta(description="Seconds for one attempt; without it, 15."),
    ] = UNSET

    def options(self) -> dict[str, Any]:
        """Options of `bell.webhooks`; null counts as left out where a setting cannot be none."""
        found = {word: value for word, value in given(self).items() if value is not None or word not in NEVER_NULL}
        if "retry_config" in found:
            config = found.pop("retry_config")
            found["retry"] = None if config is None else config.config()
        return found


class EndpointChange(DeliverySettings, frozen=True, kw_only=True):
    """Changes of an endpoint. Fields that are left out stay; null removes a setting."""

    url: Url | UnsetType | None = UNSET
    patterns: Patterns | UnsetType | None = UNSET


class EndpointBody(DeliverySettings, frozen=True, kw_only=True):
    """An endpoint to add: its URL and event patterns."""

    url: Url
    patterns: Patterns
    secret: Secret | None = None


class RotateBody(RequestBody, frozen=True, kw_only=True):
    """Another secret; for the overlap the old one signs as well."""

    secret: Secret | None = None
    overlap: Annotated[float, Meta(ge=0, le=3_153_600_000, description="Seconds.")] = 86_400


class DisableBody(RequestBody, frozen=True, kw_only=True):
    """Reason of a switch-off."""

    reason: Annotated[str, Meta(min_length=1, max_length=500)] = BY_HAND


class ReplayBody(RequestBody, frozen=True, kw_only=True):
    """One event, whatever its outcome, or all since a time that were not delivered."""

    event: Annotated[str, Meta(max_length=100)] | None = None
    since: When | None = None


class SecretShown(Shown, frozen=True, kw_only=True):
    """Since when a secret signs, and until when; never the secret."""

    created_at: Time
    valid_until: Time | None


class SlowedShown(Shown, frozen=True, kw_only=True):
    """An endpoint that is only tried once a minute."""

    since: Annotated[Time, Meta(description="When the first attempt of the row failed.")]
    waiting: Annotated[
        int, Meta(description="Deliveries that have not started, counted up to 10,000.", examples=[1163])
    ]
    capped: Annotated[bool, Meta(description="There are more, and they were not counted.")]


class EndpointShown(Shown, frozen=True, kw_only=True):
    """One receiver, and how deliveries to it go."""

    id: Annotated[str, Meta(examples=[RUN_ID])]
    url: Annotated[
        str, Meta(description="Without its query (`?…`), unless the token has the scope operate.", examples=[URL])
    ]
    description: str
    patterns: Annotated[list[str], Meta(examples=[["posts.*"]])]
    header_names: Annotated[
        list[str] | None, Meta(description="None, if they are sealed with a key that is not known here.")
    ]
    secrets: list[SecretShown]
    sealed: Annotated[bool, Meta(description="Whether all that is secret about it is stored sealed.")]
    enabled: bool
    disabled_reason: str | None
    disabled_at: Time | None
    retry_config: RetryConfigShown | None
    rate: str | None
    concurrency: int | None
    timeout: float | None
    failures_in_a_row: int
    failing_since: Time | None
    last_success_at: Time | None
    last_failure_at: Time | None
    slowed: Annotated[
        SlowedShown | None,
        Meta(description="Ten or more attempts in a row have failed: it gets one a minute, until one succeeds."),
    ]
    tenant: str
    created_at: Time
    updated_at: Time
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    @classmethod
    def of(
        cls,
        endpoint: Endpoint,
        health: Health,
        *,
        url: str,
        header_names: list[str] | None,
        sealed: bool,
        slowed: SlowedShown | None,
    ) -> EndpointShown:
        """An endpoint as it is sent: its URL in clear, and of its headers and secrets nothing but that they exist."""
        return cls(
            **{name: getattr(endpoint, name) for name in _OF_ENDPOINT},
            **{name: getattr(health, name) for name in _OF_HEALTH},
            url=url,
            patterns=list(endpoint.patterns),
            header_names=header_names,
            secrets=[SecretShown(created_at=one.created_at, valid_until=one.until) for one in endpoint.secrets],
            sealed=sealed,
            disabled_reason=endpoint.reason,
            retry_config=RetryConfigShown.of(endpoint.retry),
            failures_in_a_row=health.failures,
            slowed=slowed,
            unreadable=sentence_of(endpoint),
        )

    @property
    def shown_url(self) -> str:
        """The URL without its query, in which there may be a token."""
        return self.masked().url

    @property
    def retry(self) -> Retry | None:
        return None if self.retry_config is None else self.retry_config.value()

    def masked(self) -> EndpointShown:
        """Without the query of its URL, in which there may be a token."""
        address, mark, _ = self.url.partition("?")
        return msgspec.structs.replace(self, url=f"{address}?…") if mark else self

    def health(self) -> Health:
        return Health(self.id, self.failures_in_a_row, **{name: getattr(self, name) for name in _OF_HEALTH})


_SHOWN_APART = ("url", "patterns", "secrets", "unreadable")
_OF_ENDPOINT = [
    name for name in EndpointShown.__struct_fields__ if name in Endpoint.__struct_fields__ and name not in _SHOWN_APART
]
_OF_HEALTH = [name for name in EndpointShown.__struct_fields__ if name in Health.__struct_fields__]


class MadeEndpoint(EndpointShown, frozen=True, kw_only=True):
    """An endpoint with a new secret."""

    secret: Annotated[
        str | None,
        Meta(
            description="Shown this once; null where an Idempotency-Key repeats the answer.",
            examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        ),
    ]

    @classmethod
    def without_secret(cls, shown: EndpointShown) -> MadeEndpoint:
        """An endpoint as its answer is stored: without the secret and the query of its URL."""
        return cls(**msgspec.structs.asdict(shown.masked()), secret=None)


class EndpointsQuery(Query, frozen=True, kw_only=True):
    after: Cursor | None = None
    limit: Limit = 1000


class DeliveriesQuery(Query, frozen=True, kw_only=True):
    status: Status | None = None
    before: Cursor | None = None
    limit: Limit = 100


operations = Operations("webhooks")

add = operations.add(
    "add",
    "POST",
    "/webhooks",
    Scope.OPERATE,
    MadeEndpoint,
    "Add an endpoint: send events to a URL. The secret, which signs every delivery, is shown this once.",
    status=201,
    body=EndpointBody,
    shown=EndpointShown,
    examples=[{"url": URL, "patterns": ["posts.*"], "rate": "10/s"}],
    headers=(IDEMPOTENCY_KEY,),
)
list_ = operations.add(
    "list",
    "GET",
    "/webhooks",
    Scope.READ,
    ListPage[EndpointShown],
    "List all endpoints, oldest first.",
    query=EndpointsQuery,
)
get = operations.add(
    "get",
    "GET",
    "/webhooks/{endpoint_id}",
    Scope.READ,
    EndpointShown,
    "Show an endpoint, and how deliveries to it go.",
)
change = operations.add(
    "change",
    "PATCH",
    "/webhooks/{endpoint_id}",
    Scope.OPERATE,
    EndpointShown,
    "Change what is named, and leave the rest.",
    body=EndpointChange,
    shown=EndpointShown,
    examples=[{"patterns": ["posts.**"]}],
)
delete = operations.add(
    "delete",
    "DELETE",
    "/webhooks/{endpoint_id}",
    Scope.OPERATE,
    NoneType,
    "Remove an endpoint; deliveries that are not sent yet are canceled.",
    status=204,
)
enable = operations.add(
    "enable",
    "POST",
    "/webhooks/{endpoint_id}/enable",
    Scope.OPERATE,
    EndpointShown,
    "Enable an endpoint: events are sent again, from now on.",
)
disable = operations.add(
    "disable",
    "POST",
    "/webhooks/{endpoint_id}/disable",
    Scope.OPERATE,
    EndpointShown,
    "Disable an endpoint: nothing more is sent; matching events are recorded, and can be replayed.",
    body=DisableBody,
    body_required=False,
)
rotate = operations.add(
    "rotate",
    "POST",
    "/webhooks/{endpoint_id}/rotate",
    Scope.OPERATE,
    MadeEndpoint,
    "Give an endpoint another secret, which is shown this once; for a day, or `overlap`, the old one signs as well.",
    body=RotateBody,
    body_required=False,
    headers=(IDEMPOTENCY_KEY,),
)
test = operations.add(
    "test",
    "POST",
    "/webhooks/{endpoint_id}/test",
    Scope.OPERATE,
    Delivery,
    "Send a `webhook.ping` to this endpoint alone; the answer is the delivery, to be read later.",
    status=202,
    creates=True,
)
replay = operations.add(
    "replay",
    "POST",
    "/webhooks/{endpoint_id}/replay",
    Scope.OPERATE,
    Items[Delivery],
    "Send again: one event, or all since a time that were not delivered.",
    status=202,
    creates=True,
    body=ReplayBody,
    examples=[{"since": AT}],
)
deliveries = operations.add(
    "deliveries",
    "GET",
    "/webhooks/{endpoint_id}/deliveries",
    Scope.READ,
    ListPage[Delivery],
    "List what was and will be sent to an endpoint, newest first.",
    query=DeliveriesQuery,
)
attempts = operations.add(
    "attempts",
    "GET",
    "/webhooks/deliveries/{delivery_id}/attempts",
    Scope.READ,
    ListPage[AttemptShown],
    "List every try of a delivery; the `result` of each has `status_code`, `duration_ms` and `answer`.",
    query=AttemptsQuery,
)
