"""Ids: version 7, in order, and never twice."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random, SystemRandom
from typing import Any
from uuid import UUID

import msgspec
import pytest

from workbell.model.clock import EPOCH
from workbell.model.ids import (
    FIRST_ID,
    LAST_ID,
    MOST_TOKEN,
    IdSource,
    first_id_at,
    id_of,
    is_id,
    lane_id,
    new_id,
    new_lease_token,
    time_of,
)


def test_an_id_is_a_uuid_of_version_7_with_its_time_in_front() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id()
    after = time.time_ns() // 1_000_000
    value = UUID(made)
    assert str(value) == made
    assert value.version == 7
    assert value.variant == "specified in RFC 4122"
    # A burst of ids in this process may have borrowed from the milliseconds to come.
    assert before <= value.int >> 80 <= after + 1000


@pytest.mark.parametrize("milliseconds", [1000, 1_760_000_000_123, 253_402_300_799_999])
def test_the_first_id_of_a_time_parts_what_came_before_from_what_comes_after(milliseconds: int) -> None:
    bound = first_id_at(EPOCH + timedelta(milliseconds=milliseconds, microseconds=999))
    assert is_id(bound)
    assert IdSource(Random(1)).make(milliseconds - 1) < bound <= IdSource(Random(1)).make(milliseconds)


@pytest.mark.parametrize("milliseconds", [1, 1000, 1_760_000_000_123, 253_402_300_799_999])
def test_an_id_says_when_it_was_made(milliseconds: int) -> None:
    made_at = EPOCH + timedelta(milliseconds=milliseconds)
    assert time_of(first_id_at(made_at)) == time_of(IdSource(Random(1)).make(milliseconds)) == made_at


def test_an_id_of_a_time_that_no_calendar_has() -> None:
    assert time_of(LAST_ID).year == 9999


def test_there_is_no_id_before_1970() -> None:
    assert first_id_at(datetime.min.replace(tzinfo=UTC)) == first_id_at(EPOCH) == "00000000-0000-7000-8000-000000000000"


def test_ids_sort_in_the_order_they_were_made() -> None:
    made = [new_id() for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_a_clock_that_goes_back_does_not_take_the_ids_with_it() -> None:
    source = IdSource(Random(1))
    made = [source.make(milliseconds) for milliseconds in (1000, 999, 0, 1000, 1001, 5)]
    assert made == sorted(made)


def test_a_millisecond_can_have_more_ids_than_its_counter_holds() -> None:
    source = IdSource(Random(1))
    made = [source.make(1000) for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(UUID(each).version == 7 for each in made)


def test_the_largest_time_fits() -> None:
    assert is_id(IdSource(Random(1)).make(2**48 - 1))


def test_threads_never_make_the_same_id() -> None:
    with ThreadPoolExecutor(8) as threads:
        batches = list(threads.map(lambda _: [new_id() for _ in range(2000)], range(8)))
    for batch in batches:
        assert batch == sorted(batch)
    assert len({made for batch in batches for made in batch}) == 16_000


@pytest.mark.filterwarnings("ignore:This process")  # forking with threads about: newer Pythons warn
def test_a_forked_child_does_not_repeat_its_parents_ids(tmp_path: Path) -> None:
    file = tmp_path / "ids"
    pid = os.fork()
    if pid == 0:
        try:
            file.write_text("\n".join(new_id() for _ in range(100)))
        finally:
            os._exit(0)
    mine = [new_id() for _ in range(100)]
    os.waitpid(pid, 0)
    theirs = file.read_text().split()
    assert len(theirs) == 100
    assert not set(mine) & set(theirs)
    # Not only the times differ: the random parts do as well.
    assert not {made[-12:] for made in mine} & {made[-12:] for made in theirs}


def test_lease_tokens_are_never_drawn_twice_and_fill_53_bits() -> None:
    drawn = [new_lease_token() for _ in range(20_000)]
    assert len(set(drawn)) == len(drawn)
    assert 1 <= min(drawn) < 2**45
    assert 2**52 < max(drawn) <= MOST_TOKEN == 2**53 - 1


@pytest.mark.parametrize(("lot", "token"), [(0, 1), (MOST_TOKEN - 1, MOST_TOKEN)])
def test_lease_tokens_begin_with_1_and_end_with_the_largest_exact_integer(
    lot: int, token: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 is that of a run that was never claimed."""
    monkeypatch.setattr(SystemRandom, "_randbelow", lambda self, below: min(lot, below - 1))
    assert new_lease_token() == token
    assert float(token) == token
    assert msgspec.json.decode(msgspec.json.encode(token)) == token


@pytest.mark.filterwarnings("ignore:This process")  # forking with threads about: newer Pythons warn
def test_forked_children_do_not_draw_alike(tmp_path: Path) -> None:
    new_lease_token()
    for child in range(2):
        pid = os.fork()
        if pid == 0:
            try:
                (tmp_path / str(child)).write_text("\n".join(str(new_lease_token()) for _ in range(100)))
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
    drawn = [new_lease_token() for _ in range(100)]
    drawn += [int(token) for child in range(2) for token in (tmp_path / str(child)).read_text().split()]
    assert len(set(drawn)) == len(drawn) == 300


@pytest.mark.parametrize(
    "text",
    ["", "x", None, 5, b"01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000001\n",
     "01890000-0000-7000-8000-00000000000g", "01890000000070008000000000000001", "01890000-0000-7000-8000-00000000000A",
     "' OR 1=1 --", "01890000-0000-7000-8000-0000000000011", "\N{FULLWIDTH DIGIT ONE}" * 36],
    ids=repr,
)  # fmt: skip
def test_what_is_no_id(text: Any) -> None:
    assert not is_id(text)


def test_what_is_an_id() -> None:
    assert is_id("01890000-0000-7000-8000-000000000001")


def test_a_lane_is_named_by_its_four_parts() -> None:
    lanes = {
        lane_id("t", "q", "j", None),
        lane_id("t", "q", "j", ""),
        lane_id("t", "q", "j", "x"),
        lane_id("q", "t", "j", None),
        lane_id("t", "qj", "", None),
    }
    assert len(lanes) == 5
    assert all(0 <= lane < 2**63 for lane in lanes)
    # It is stored: it must be the same in every process and version.
    assert lane_id("default", "default", "send", None) == 2761588290041341043


ULIDS = [f"{first}{rest}" for first in "07" for rest in ("0" * 25, "Z" * 25, "1J9X2VABCDEFGHJKMNPQRSTVW")]


def test_a_uuid_stands_for_itself() -> None:
    made = new_id()
    assert id_of(made) == id_of(made.upper()) == made


def test_ulids_keep_their_bits_and_so_their_order() -> None:
    ids = [id_of(text) for text in sorted(ULIDS)]
    assert ids == sorted(set(ids))
    assert all(is_id(one) for one in ids)
    assert (ids[0], ids[-1]) == (FIRST_ID, LAST_ID)
    assert id_of("01ARZ3NDEKTSV4RRFFQ69G5FAV") == id_of("01arz3ndektsv4rrffq69g5fav")
    assert id_of("01ARZ3NDEKTSV4RRFFQ69G5FAV") == "01563e3a-b5d3-d676-4c61-efb99302bd5b"  # as the ULID page says


@pytest.mark.parametrize(
    "text", ["", "x", "job_run_1", "8" + "Z" * 25, "0" * 25, "cjld2cjxh0000qzrmn831i7rn", "\ud800", 7]
)
def test_any_other_text_has_an_id_of_its_own(text: object) -> None:
    assert is_id(id_of(text))
    assert id_of(text) == id_of(text) != id_of(f"{text}.")
