"""The verbs about triggers, and what they refuse without storing anything (C1, C2, C6)."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from tests.support.inside.features import API_SOURCE
from tests.support.inside.values import is_id
from workbell import (
    Event,
    InvalidEvent,
    InvalidOption,
    Retry,
    Trigger,
    TriggerExists,
    TriggerNotFound,
    UnknownProcessor,
    Workbell,
    WorkbellError,
)

MAILS: dict[str, Any] = {"pattern": "posts.*", "processor": "mail"}
REFUSED: list[tuple[dict[str, Any], type[WorkbellError], str]] = [
    ({"pattern": ""}, InvalidEvent, "it is empty"),
    ({"pattern": "posts.*.**.x"}, InvalidEvent, "last segment"),
    ({"pattern": "posts.cre*"}, InvalidEvent, "one whole segment"),
    ({"pattern": "posts-*"}, InvalidEvent, "'-'"),
    ({"pattern": "a" * 257}, InvalidEvent, "257 characters"),
    ({"pattern": 7}, InvalidEvent, "not a string"),
    ({"processor": "nobody"}, UnknownProcessor, "known are mail"),
    ({"processor": "send"}, UnknownProcessor, "takes no event"),
    ({"processor": "webhook-alert"}, UnknownProcessor, "takes no event"),
    ({"processor": "clean-history"}, UnknownProcessor, "There is no processor"),
    ({"processor": ""}, InvalidOption, "processor"),
    ({"name": " x"}, InvalidOption, "trigger ' x'"),
    ({"name": "x" * 201}, InvalidOption, "200"),
    ({"enabled": "yes"}, InvalidOption, "True or False"),
    ({"description": 7}, InvalidOption, "description"),
    ({"retry_config": {"attempts": 3}}, InvalidOption, "max_attempts"),
    ({"retry_config": {"max_attempts": 0}}, WorkbellError, "attempts"),
    ({"retry_config": {"max_attempts": 2}, "retry": Retry(attempts=2)}, InvalidOption, "give one"),
]


@pytest.fixture(autouse=True)
def processors(bell: Workbell, send: Any) -> None:
    """`mail` takes an event, `send` does not."""

    @bell.processor("mail", description="Tells the readers")
    def mail(event: Event) -> None: ...


@pytest.mark.anyio
async def test_the_whole_life_of_a_trigger(bell: Workbell) -> None:
    triggers = bell.triggers
    made = await triggers.aadd("mails", **MAILS)
    assert await triggers.aget("mails") == await triggers.aget(made.id) == made
    assert list(await triggers.alist()) == [made]
    assert not (await triggers.adisable("mails")).enabled
    assert (await triggers.aenable("mails")).enabled
    assert (await triggers.aupdate("mails", pattern="posts.**")).pattern == "posts.**"
    await triggers.adelete("mails")
    with pytest.raises(TriggerNotFound, match="there are none yet"):
        await triggers.aget("mails")


class TestAdd:
    def test_it_is_as_it_was_said(self, bell: Workbell) -> None:
        """C1, C6: every field, in the words of event jobs."""
        config = {"max_attempts": 5, "initial_delay_ms": 250, "max_delay_ms": 2000}
        made = bell.triggers.add("mails", **MAILS, description="Tell", enabled=False, retry_config=config)
        assert bell.triggers.get("mails") == made
        assert is_id(made.id)
        told = made.as_dict()
        assert told["created_at"] == told["updated_at"]
        wanted = {
            "id": made.id,
            "name": "mails",
            "description": "Tell",
            "event_pattern": "posts.*",
            "processor_name": "mail",
            "enabled": False,
            "retry_config": config | {"backoff_multiplier": 2},
        }
        assert wanted.items() <= told.items()

    def test_the_processor_may_be_the_function_or_one_that_only_the_store_knows(self, bell: Workbell) -> None:
        mail = bell.registry.find("mail")
        assert mail is not None
        assert bell.triggers.add("a", pattern="*", processor=mail, retry=Retry(attempts=2)).job == "mail"
        bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
        bell.registry.replace([], ["mail"])
        assert bell.triggers.add("b", pattern="*", processor="mail").retry is None

    def test_what_cannot_be_used_leaves_nothing_behind(self, bell: Workbell) -> None:
        for given, error, words in REFUSED:
            with pytest.raises(error, match=words):
                bell.triggers.add(**({"name": "mails", **MAILS} | given))
        assert bell.triggers.list() == []

    def test_no_processor_at_all(self, bell: Workbell) -> None:
        bell.registry.replace([], ["mail"])
        with pytest.raises(UnknownProcessor, match=r"declare one with @bell\.processor\('mail'\)") as told:
            bell.triggers.add("mails", **MAILS)
        assert told.value.exit_code == 4
        assert bell.triggers.list() == []

    def test_a_name_is_taken_once_in_a_tenant(self, bell: Workbell) -> None:
        first = bell.triggers.add("mails", **MAILS)
        with pytest.raises(TriggerExists, match="'mails'"):
            bell.triggers.add("mails", pattern="*", processor="mail")
        other = bell.for_tenant("other").triggers
        theirs = other.add("mails", pattern="*", processor="mail")
        assert (bell.triggers.list(), other.list()) == ([first], [theirs])
        with pytest.raises(TriggerNotFound, match="there are mails"):
            bell.triggers.get(theirs.id)


class TestUpdate:
    def test_only_what_is_named_changes(self, bell: Workbell) -> None:
        old = bell.triggers.add("mails", **MAILS, description="Tell", retry_config={"max_attempts": 7})
        new = bell.triggers.update("mails", name="letters", pattern="*.created")
        assert (new.id, new.job, new.description, new.retry) == (old.id, old.job, old.description, old.retry)
        assert bell.triggers.get(old.id) == new
        assert bell.triggers.update("letters", retry_config=None).retry is None
        assert bell.triggers.update("letters", retry=Retry(attempts=9)).retry == Retry(attempts=9)

    def test_nothing_new_is_not_written(self, bell: Workbell) -> None:
        made = bell.triggers.add("mails", **MAILS)
        before = bell.store.subscribers.version()
        assert bell.triggers.update("mails", pattern="posts.*", enabled=True) == made
        assert bell.store.subscribers.version() == before

    def test_what_cannot_be_used_changes_nothing(self, bell: Workbell) -> None:
        made, other = bell.triggers.add("mails", **MAILS), bell.triggers.add("other", **MAILS)
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"pattern": "posts..x"}, "empty segment"),
            ({"processor": "nobody"}, "There is no processor"),
            ({"name": "other"}, "There is a trigger 'other' already"),
            ({"colour": "red"}, "there is no 'colour'"),
        ]
        for given, words in wrong:
            with pytest.raises(WorkbellError, match=words):
                bell.triggers.update("mails", **given)
        assert bell.triggers.list() == [made, other]

    def test_what_code_declares_is_only_switched_on_and_off_here(self, bell: Workbell) -> None:
        now = bell.store.clock.now()
        known = Trigger(
            id="01890000-0000-7000-8000-00000000000a",
            name="mail",
            pattern="posts.*",
            job="mail",
            created_at=now,
            updated_at=now,
            source="code:shop",
        )
        assert known.source != API_SOURCE
        assert bell.store.subscribers.write_trigger(known, None)
        with pytest.raises(InvalidOption, match="declared in the code of shop"):
            bell.triggers.update("mail", pattern="*")
        assert not bell.triggers.disable("mail").enabled
        assert bell.triggers.get("mail").pattern == "posts.*"

    def test_changes_at_once_are_all_kept(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each sees what the other has written: the write of an old version is refused, and decided again."""
        made = bell.triggers.add("mails", **MAILS)
        write, meet = bell.store.subscribers.write_trigger, threading.Barrier(2)
        waited = threading.local()

        def together(trigger: Trigger, expected: int | None) -> bool:
            if not getattr(waited, "once", False):
                waited.once = True
                meet.wait(30)
            return write(trigger, expected)

        monkeypatch.setattr(bell.store.subscribers, "write_trigger", together)
        changes: list[dict[str, Any]] = [{"pattern": "*"}, {"description": "Tell"}]
        threads = [threading.Thread(target=bell.triggers.update, args=["mails"], kwargs=each) for each in changes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        now = bell.triggers.get("mails")
        assert (now.pattern, now.description, now.version) == ("*", "Tell", 2)
        assert (
            msgspec.structs.replace(made, updated_at=now.updated_at, pattern="*", description="Tell", version=2) == now
        )
