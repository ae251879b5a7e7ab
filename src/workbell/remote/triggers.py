"""Methods about triggers, over HTTP: `client.triggers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from workbell.errors import InvalidOption
from workbell.model.retry import Retry
from workbell.model.trigger import RetryConfig, Trigger, config_of, retry_from
from workbell.remote import words
from workbell.remote.call import Plan, RemoteCall, delete, get, path, post
from workbell.remote.options import body, name_of
from workbell.remote.readers import every
from workbell.remote.transport import ServiceTransport

if TYPE_CHECKING:
    from workbell.events.triggers import TriggerChanges, TriggerSettings


class RemoteTriggers:
    """The triggers of a tenant: `client.triggers`."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def add(
        self,
        name: str,
        *,
        pattern: str,
        processor: str,
        description: str = "",
        enabled: bool = True,
        retry: Retry | RetryConfig | None = None,
        retry_config: RetryConfig | None = None,
        **settings: Unpack[TriggerSettings],
    ) -> Trigger:
        """Start a job on every event that matches: `client.triggers.add("mails", pattern="posts.*", processor="mail")`.

        The processor is a job that takes an event. `retry_config` are the words `max_attempts`, `initial_delay_ms`,
        `backoff_multiplier`, `max_delay_ms`. The settings are for every run that it makes, such as `tag=`.
        """
        return self._transport.send(_add(name, pattern, processor, description, enabled, retry, retry_config, settings))

    async def aadd(
        self,
        name: str,
        *,
        pattern: str,
        processor: str,
        description: str = "",
        enabled: bool = True,
        retry: Retry | RetryConfig | None = None,
        retry_config: RetryConfig | None = None,
        **settings: Unpack[TriggerSettings],
    ) -> Trigger:
        return await self._transport.asend(
            _add(name, pattern, processor, description, enabled, retry, retry_config, settings)
        )

    # Read

    def get(self, name_or_id: str) -> Trigger:
        """A trigger by its name or its id."""
        return self._transport.send(_get(name_or_id))

    async def aget(self, name_or_id: str) -> Trigger:
        return await self._transport.asend(_get(name_or_id))

    def list(self) -> list[Trigger]:
        """All triggers, by name; also those that code declares."""
        return self._transport.follow(_list())

    async def alist(self) -> Sequence[Trigger]:
        return await self._transport.afollow(_list())

    # Steer

    def update(self, name_or_id: str, **changes: Unpack[TriggerChanges]) -> Trigger:
        """Change what is named, and leave the rest: `client.triggers.update("mails", pattern="posts.**")`."""
        return self._transport.send(_update(name_or_id, changes))

    async def aupdate(self, name_or_id: str, **changes: Unpack[TriggerChanges]) -> Trigger:
        return await self._transport.asend(_update(name_or_id, changes))

    def enable(self, name_or_id: str) -> Trigger:
        """Enable a trigger: it starts runs again, from the events that are fanned out from now on."""
        return self._transport.send(_steer(name_or_id, "enable"))

    async def aenable(self, name_or_id: str) -> Trigger:
        return await self._transport.asend(_steer(name_or_id, "enable"))

    def disable(self, name_or_id: str) -> Trigger:
        """Disable a trigger: it starts no more runs; matches are recorded as matched while disabled."""
        return self._transport.send(_steer(name_or_id, "disable"))

    async def adisable(self, name_or_id: str) -> Trigger:
        return await self._transport.asend(_steer(name_or_id, "disable"))

    def delete(self, name_or_id: str) -> None:
        """Remove a trigger; its runs stay. One that code declares comes back, within a minute while that code runs."""
        self._transport.send(delete(path("triggers", name_or_id)))

    async def adelete(self, name_or_id: str) -> None:
        await self._transport.asend(delete(path("triggers", name_or_id)))


def _add(
    name: str,
    pattern: str,
    processor: object,
    description: str,
    enabled: bool,
    retry: Retry | RetryConfig | None,
    retry_config: RetryConfig | None,
    settings: TriggerSettings,
) -> RemoteCall[Trigger]:
    given: dict[str, Any] = {
        "name": name,
        "pattern": pattern,
        "processor": processor,
        "description": description,
        "enabled": enabled,
        **settings,
    }
    for word, value in (("retry", retry), ("retry_config", retry_config)):
        if value is not None:
            given[word] = value
    return post(path("triggers"), words.read_trigger, _fields(name, given))


def _fields(name: str, given: Mapping[str, Any]) -> Any:
    """Options as fields of the API, which has one name for each."""
    if "retry" in given and "retry_config" in given:
        raise InvalidOption("trigger: retry and retry_config say the same thing; give one of them.")
    fields = dict(given)
    for word, meant in (("pattern", "event_pattern"), ("processor", "processor_name"), ("retry", "retry_config")):
        if word in fields:
            fields[meant] = fields.pop(word)
    if "processor_name" in fields:
        fields["processor_name"] = name_of(fields["processor_name"])
    if fields.get("retry_config") is not None:
        policy = retry_from(fields["retry_config"])
        fields["retry_config"] = None if policy is None else config_of(policy)
    return body(f"trigger {name}", fields)


def _get(name_or_id: str) -> RemoteCall[Trigger]:
    return get(path("triggers", name_or_id), words.read_trigger)


def _list() -> Plan[list[Trigger]]:
    return every(path("triggers"), words.read_triggers)


def _update(name_or_id: str, changes: Any) -> RemoteCall[Trigger]:
    fields = _fields(name_or_id, changes)
    return RemoteCall(method="PATCH", path=path("triggers", name_or_id), read=words.read_trigger, body=fields)


def _steer(name_or_id: str, verb: str) -> RemoteCall[Trigger]:
    return post(path("triggers", name_or_id, verb), words.read_trigger)
