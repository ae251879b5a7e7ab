"""Looking at events: found, listed, matched, followed; and what cannot be emitted (C2–C4)."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.inside.features import event_tail as tail
from tests.support.inside.features import event_verbs as verbs
from tests.support.inside.values import EventCount, new_id
from workbell import Endpoint, Event, EventNotFound, InvalidEvent, InvalidOption, Workbell, WorkbellError
from workbell.testing import drain

REFUSED: list[tuple[str, Any, dict[str, Any], str]] = [
    ("", None, {}, "it is empty"),
    ("posts.*", None, {}, "one type"),
    ("posts created", None, {}, "' '"),
    ("a" * 257, None, {}, "257 characters"),
    (".".join("a" * 33), None, {}, "33 segments"),
    ("job.failed", None, {}, "Workbell emits this one itself"),
    ("posts.created", "x" * 256 * 1024, {}, "the limit is 262,144"),
    ("posts.created", object(), {}, "cannot be written as JSON"),
    ("posts.created", None, {"source": "/workbell"}, "Workbell's own"),
    ("posts.created", None, {"source": "ü" * 513}, "1,024 bytes"),
    ("posts.created", None, {"subject": "\x00"}, "subject"),
    ("posts.created", None, {"key": ""}, "key"),
]


@pytest.fixture(autouse=True)
def processors(bell: Workbell) -> None:
    @bell.processor("mail")
    def mail(event: Event) -> dict[str, Any]:
        return {"about": event.subject}


def add_endpoint(bell: Workbell, *patterns: str) -> Endpoint:
    now = bell.store.clock.now()
    made = Endpoint(
        id=new_id(),
        url="https://example.com/hook",
        patterns=patterns,
        created_at=now,
        updated_at=now,
        enabled=False,
        reason="it was gone (410)",
    )
    assert bell.store.subscribers.write_endpoint(made, None)
    return made


@pytest.mark.anyio
async def test_the_verbs_for_async_code(bell: Workbell) -> None:
    event = await bell.aemit("posts.created", {"id": 7})
    assert (await bell.events.aget(event.id)).data == {"id": 7}
    assert [each.id for each in await bell.events.alist(type="posts.*")] == [event.id]
    assert list(await bell.events.amatches(event.id)) == list(await bell.events.amatch("posts.created")) == []


def test_what_cannot_be_emitted_is_not_stored(bell: Workbell) -> None:
    bell.triggers.add("all", pattern="*", processor="mail")
    for name, data, options, words in REFUSED:
        with pytest.raises(WorkbellError, match=words):
            bell.emit(name, data, **options)
    assert bell.events.list() == []
    assert drain(bell) == []


def test_pages_types_and_patterns(bell: Workbell) -> None:
    made = [bell.emit(name) for name in ("posts.created", "posts.old.gone", "users.left", "posts.gone")]
    ids = [event.id for event in reversed(made)]
    assert [event.id for event in bell.events.list()] == ids
    assert [event.id for event in bell.events.list(limit=2)] == ids[:2]
    assert [event.id for event in bell.events.list(before=ids[1], limit=2)] == ids[2:]
    for wanted, types in (
        ("posts.created", ["posts.created"]),
        ("posts.*", ["posts.gone", "posts.created"]),
        ("posts.**", ["posts.gone", "posts.old.gone", "posts.created"]),
    ):
        assert [event.type for event in bell.events.list(type=wanted)] == types
    assert [event.type for event in bell.events.list(type="posts.**", before=ids[0], limit=1)] == ["posts.old.gone"]
    assert bell.for_tenant("other").events.list() == []


def test_a_pattern_is_searched_beyond_a_page_but_not_for_ever(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbell.events.verbs.PAGE", 2)
    monkeypatch.setattr("workbell.events.verbs.MOST_SEARCHED", 6)
    names = ["a.first", "x.1", "a.second", "x.2", "x.3", "x.4", "x.5"]
    for name in names:
        bell.emit(name)
    assert [event.type for event in bell.events.list(type="a.*", limit=2)] == ["a.second"]


def test_what_cannot_be_asked(bell: Workbell) -> None:
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"limit": 0}, InvalidOption),
        ({"limit": 1001}, InvalidOption),
        ({"before": "yesterday"}, InvalidOption),
        ({"type": "posts.cre*"}, InvalidEvent),
    ]
    for given, error in wrong:
        with pytest.raises(error):
            bell.events.list(**given)


def test_an_event_is_its_tenants_own(bell: Workbell) -> None:
    event = bell.emit("posts.created")
    assert bell.events.get(event.id) == event
    for asked, events in ((event.id, bell.for_tenant("other").events), (new_id(), bell.events), ("x", bell.events)):
        with pytest.raises(EventNotFound, match="There is no event"):
            events.get(asked)
        with pytest.raises(EventNotFound):
            events.matches(asked)


def test_what_an_event_matched(bell: Workbell) -> None:
    """Also what was disabled, and what was removed since."""
    mails, off = (bell.triggers.add(name, pattern="posts.*", processor="mail") for name in ("mails", "off"))
    bell.triggers.disable("off")
    gone = bell.triggers.add("gone", pattern="*", processor="mail")
    endpoint = add_endpoint(bell, "users.*", "*.created")
    event = bell.emit("posts.created", subject="7")
    assert bell.events.matches(event.id) == []
    runs = drain(bell)
    bell.triggers.delete("gone")
    found = {match.subscriber: match for match in bell.events.matches(event.id)}
    assert set(found) == {mails.id, off.id, gone.id, endpoint.id}
    told = found[mails.id].as_dict()
    assert (told["kind"], told["name"], told["outcome"]) == ("trigger", "mails", "started")
    assert {found[mails.id].run, found[gone.id].run} == {run.id for run in runs}
    assert (found[gone.id].kind, found[gone.id].name) == (None, None)
    assert (found[off.id].outcome, found[off.id].run, found[off.id].reason) == ("disabled", None, "it was disabled")
    heard = found[endpoint.id]
    assert (heard.kind, heard.name, heard.reason) == ("endpoint", endpoint.url, "it was gone (410)")
    pages = [bell.events.matches(event.id, after=after, limit=2) for after in (None, sorted(found)[1])]
    assert [match.subscriber for page in pages for match in page] == sorted(found)


@pytest.mark.anyio
async def test_matches_are_counted(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of what was disabled; up to a hundred."""
    for name in ("one", "two", "off"):
        bell.triggers.add(name, pattern="posts.*", processor="mail")
    bell.triggers.disable("off")
    event, other = bell.emit("posts.created"), bell.emit("users.created")
    theirs = bell.for_tenant("other").emit("posts.created")
    ids = [other.id, event.id, new_id(), "x", theirs.id, event.id]
    waiting = EventCount(event=event.id, type="posts.created", fanned_out=False, count=0, started=0, capped=False)
    assert bell.events.counts(ids)[1] == waiting
    drain(bell)
    nothing = EventCount(event=other.id, type="users.created", fanned_out=True, count=0, started=0, capped=False)
    fanned = replace(waiting, fanned_out=True, count=3, started=2)
    assert bell.events.counts(ids) == await bell.events.acounts(ids) == [nothing, fanned]
    assert bell.events.counts([]) == []
    monkeypatch.setattr(verbs, "MOST_COUNTED", 2)
    assert (bell.events.counts([event.id])[0].count, bell.events.counts([event.id])[0].capped) == (2, True)
    with pytest.raises(InvalidOption, match="ids: 101 are more than 100 at once"):
        bell.events.counts([event.id] * 101)


def test_the_tester(bell: Workbell) -> None:
    """C2: who hears a type, enabled or not, by which pattern; asked of system events as they are heard."""
    for name, pattern in (("all", "*"), ("jobs", "job.*"), ("mails", "posts.*")):
        bell.triggers.add(name, pattern=pattern, processor="mail")
    bell.triggers.disable("mails")
    add_endpoint(bell, "posts.*", "users.*", "*.created")
    heard = {hearer.name: hearer for hearer in bell.events.match("posts.created")}
    assert set(heard) == {"all", "mails", "https://example.com/hook"}
    assert heard["mails"].as_dict()["patterns"] == ("posts.*",)
    assert (heard["mails"].enabled, heard["all"].enabled, heard["all"].job) == (False, True, "mail")
    assert heard["https://example.com/hook"].patterns == ("posts.*", "*.created")
    assert [hearer.name for hearer in bell.events.match("job.failed")] == ["jobs"]
    assert [hearer.name for hearer in bell.events.match("job.failed", system=False)] == ["all", "jobs"]
    assert bell.for_tenant("other").events.match("posts.created") == []
    with pytest.raises(InvalidEvent):
        bell.events.match("posts.*")
    assert bell.events.list() == []


class TestTail:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("POLL", "GAP", "THOROUGH"):
            monkeypatch.setattr(tail, name, 0.001 if name == "POLL" else 0.0)

    def test_what_is_new_comes_once_and_in_order(self, bell: Workbell) -> None:
        bell.emit("posts.old")
        found = bell.events.tail()
        first, second = bell.emit("posts.a"), bell.emit("users.b")
        assert [next(found).id, next(found).id] == [first.id, second.id]
        other = threading.Thread(target=bell.emit, args=["posts.c"])
        other.start()
        assert next(found).type == "posts.c"
        other.join()
        found.close()

    def test_of_a_type_or_a_pattern(self, bell: Workbell) -> None:
        of_type, of_pattern = bell.events.tail(type="posts.b"), bell.events.tail(type="posts.*")
        for name in ("users.a", "posts.b", "posts.c.d", "posts.e"):
            bell.emit(name)
        assert next(of_type).type == "posts.b"
        assert [next(of_pattern).type, next(of_pattern).type] == ["posts.b", "posts.e"]
        of_type.close()
        of_pattern.close()
        with pytest.raises(InvalidEvent):
            bell.events.tail(type="posts.x*")

    def test_more_than_a_page(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tail, "PAGE", 3)
        found = bell.events.tail()
        made = [bell.emit("posts.a").id for _ in range(10)]
        assert [next(found).id for _ in made] == made
        found.close()

    def test_what_was_committed_late_is_not_missed(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """An id is made before its transaction commits: a younger event may be seen before it, and many of them."""
        monkeypatch.setattr(tail, "PAGE", 3)
        now = bell.store.clock.now()
        late = Event(new_id(), bell.tenant, "posts.late", "/x", now, now)
        found = bell.events.tail()
        made = [bell.emit("posts.a").id for _ in range(10)]
        assert [next(found).id for _ in made] == made
        bell.store.events.add([late])
        assert next(found).id == late.id
        found.close()

    def test_what_is_seen_is_not_kept_in_mind_for_ever(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nor read again: beyond the window an id is neither new nor remembered."""
        follower = tail.EventTail(bell.store, bell.tenant, None)
        found = follower.events()
        bell.emit("posts.a")
        next(found)
        assert len(follower._seen) == 1
        monkeypatch.setattr(tail, "WINDOW", -60.0)  # as if a minute had passed
        assert follower._read_new() == []
        assert follower._seen == set()
        found.close()
