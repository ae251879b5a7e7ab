"""Triggers on the wire: the options of verbs from bodies, and the value that a client reads."""

from __future__ import annotations

import msgspec

from tests.unit.makers import ID, NOW
from workbell.model.retry import Retry
from workbell.model.run_defaults import RunDefaults
from workbell.model.trigger import OPTION_FIELDS, Trigger
from workbell.wire.run_settings import RunSettingsBody, RunSettingsShown
from workbell.wire.triggers import NewTrigger, TriggerChange, TriggerShown

TRIGGER = Trigger(
    id=ID,
    name="mails",
    pattern="posts.*",
    job="mail",
    created_at=NOW,
    updated_at=NOW,
    tenant="a",
    description="D",
    enabled=False,
    retry=Retry(attempts=2, delay=0.5, factor=3, cap=9, jitter=0),
    source="code:x",
    options=RunDefaults(tag="t", priority=3, user_id="u"),
)


def test_a_trigger_there_and_back() -> None:
    for trigger in (TRIGGER, msgspec.structs.replace(TRIGGER, retry=None)):
        sent = msgspec.json.encode(TriggerShown.of(trigger))
        assert msgspec.json.decode(sent, type=TriggerShown).value() == trigger
        assert msgspec.json.decode(msgspec.json.encode(trigger.as_dict())) == msgspec.json.decode(sent)


def test_all_options_of_runs_are_there() -> None:
    assert set(RunSettingsShown.__struct_fields__) == set(RunSettingsBody.__struct_fields__) == set(OPTION_FIELDS)


def test_options_of_a_new_trigger() -> None:
    """Null counts as left out."""
    body = b'{"name": "m", "event_pattern": "a.*", "processor_name": "mail", "tag": null, "queue": "q"}'
    assert msgspec.json.decode(body, type=NewTrigger).options() == {
        "name": "m",
        "pattern": "a.*",
        "processor": "mail",
        "description": "",
        "enabled": True,
        "queue": "q",
    }


def test_changes_of_a_trigger() -> None:
    """Null removes an option of its runs, or its retries; elsewhere it counts as left out."""
    body = b'{"name": null, "event_pattern": null, "tag": null, "retry_config": null, "processor_name": "mail"}'
    assert msgspec.json.decode(body, type=TriggerChange).options() == {
        "tag": None,
        "retry_config": None,
        "processor": "mail",
    }
    config = msgspec.json.decode(b'{"retry_config": {"max_attempts": 5}}', type=TriggerChange).options()
    assert config["retry_config"] == {"max_attempts": 5}  # the rest is the default of what it is for
    assert msgspec.json.decode(b"{}", type=TriggerChange).options() == {}
