"""Plans of verbs about events: emit, triggers, webhooks; and of notifications to people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from workbell.errors import InvalidOption
from workbell.model.clock import seconds
from workbell.model.endpoint import Health
from workbell.model.event import Event
from workbell.model.event_count import EventCount
from workbell.model.event_subscribers import EventSubscriber
from workbell.model.json_text import encode
from workbell.model.notification import Notification
from workbell.model.retry import Retry
from workbell.model.trigger import RetryConfig, Trigger, config_of, retry_from
from workbell.model.users import UserId
from workbell.remote.asking import ask, call_of
from workbell.remote.call import Plan
from workbell.remote.options import body, name_of_job, no_connection
from workbell.remote.values import RemoteNewEndpoint
from workbell.wire import events, notifications, triggers, webhooks
from workbell.wire.webhooks import EndpointShown, MadeEndpoint

# Emit


def emit(
    type: str,  # noqa: A002
    data: Any,
    subject: str | None,
    source: str | None,
    key: str | None,
    connection: Any,
) -> Plan[Event]:
    if connection is not None:
        no_connection()
    content = _json(f"event {type}: its data", data)
    given = {"type": type, "data": content, "subject": subject, "source": source, "key": key}
    return ask(events.emit, given)


def notify(user_id: UserId, data: Any) -> Plan[Notification]:
    return ask(notifications.tell, {"user_id": user_id, "data": _json("notify: its data", data)})


def broadcast(data: Any) -> Plan[Notification]:
    return ask(notifications.tell, {"everybody": True, "data": _json("broadcast: its data", data)})


def _json(what: str, data: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(what, data).encode())


def events_match(type: str, system: bool | None) -> Plan[list[EventSubscriber]]:  # noqa: A002
    return (yield call_of(events.match, query={"type": type, "system": system})).items


def events_counts(ids: Sequence[str]) -> Plan[list[EventCount]]:
    return (yield call_of(events.counts, query={"event": [*ids]})).items


# Triggers


def triggers_add(name: str, **given: Any) -> Plan[Trigger]:
    for word in ("retry", "retry_config"):
        if given[word] is None:
            del given[word]
    return (yield call_of(triggers.add, body=_trigger(name, {"name": name, **given}))).value()


def triggers_update(name_or_id: str, **changes: Any) -> Plan[Trigger]:
    return (yield call_of(triggers.change, name_or_id, body=_trigger(name_or_id, changes))).value()


def _trigger(name: str, given: Mapping[str, Any]) -> msgspec.Raw:
    """Options of a trigger in the words of the API, which has one name for each."""
    if "retry" in given and "retry_config" in given:
        raise InvalidOption("trigger: retry and retry_config say the same thing; give one of them.")
    fields = dict(given)
    for word, meant in (("pattern", "event_pattern"), ("processor", "processor_name"), ("retry", "retry_config")):
        if word in fields:
            fields[meant] = fields.pop(word)
    if "processor_name" in fields:
        fields["processor_name"] = name_of_job(fields["processor_name"])
    if "retry_config" in fields:
        fields["retry_config"] = _config(fields["retry_config"])
    return body(f"trigger {name}", fields)


def _config(policy: Retry | RetryConfig | None) -> RetryConfig | None:
    """A policy in the words of the API, checked; what a config leaves out, the service knows."""
    if policy is None or isinstance(policy, Retry):
        return None if policy is None else config_of(policy)
    retry_from(policy)
    return policy


# Webhooks


def webhooks_add(url: str, secret: str | None, **settings: Any) -> Plan[RemoteNewEndpoint]:
    fields = {"url": url, **_endpoint(settings)} | ({} if secret is None else {"secret": secret})
    while True:
        made: MadeEndpoint = yield call_of(webhooks.add, body=body("endpoint", fields))
        text = made.secret or secret
        if text is not None:
            return RemoteNewEndpoint(_without_secret(made), text)
        # The answer was lost, and with it the secret that was made there: nobody could verify what it signs.
        yield call_of(webhooks.delete, made.id)


def webhooks_rotate(endpoint_id: str, secret: str | None, overlap: float | timedelta) -> Plan[RemoteNewEndpoint]:
    fields = {"overlap": seconds("overlap", overlap)} | ({} if secret is None else {"secret": secret})
    while True:
        made: MadeEndpoint = yield call_of(webhooks.rotate, endpoint_id, body=fields)
        text = made.secret or secret
        if text is not None:
            return RemoteNewEndpoint(_without_secret(made), text)
        # The answer was lost, and with it the secret: have another one made.


def webhooks_update(endpoint_id: str, url: str | None, **settings: Any) -> Plan[EndpointShown]:
    fields = _endpoint(settings) | ({} if url is None else {"url": url})
    return (yield call_of(webhooks.change, endpoint_id, body=body("endpoint", fields)))


def webhooks_describe(endpoint_id: str) -> Plan[EndpointShown]:
    return ask(webhooks.get, {"endpoint_id": endpoint_id})


def webhooks_describe_all() -> Plan[list[EndpointShown]]:
    return ask(webhooks.list_, {})


def webhooks_health(endpoint_id: str) -> Plan[Health]:
    found: EndpointShown = yield call_of(webhooks.get, endpoint_id)
    return Health(found.id, found.failures_in_a_row, found.failing_since, found.last_success_at, found.last_failure_at)


def _endpoint(settings: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(settings)
    if "retry" in fields:
        fields["retry_config"] = _config(fields.pop("retry"))
    if isinstance(fields.get("patterns"), str):
        fields["patterns"] = [fields["patterns"]]
    return fields


def _without_secret(made: MadeEndpoint) -> EndpointShown:
    return EndpointShown(**{name: getattr(made, name) for name in EndpointShown.__struct_fields__})
