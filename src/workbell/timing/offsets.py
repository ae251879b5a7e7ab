"""UTC offsets of a zone, as stretches of time in which the offset does not change; found by probing, and cached.

`zoneinfo` has the offset of one instant only. A block of half a year is probed once, day by day (no zone has ever
changed twice within a day; the shortest stretch known is of four), and each change is found by halving.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from workbell.timing.instants import DAY, EPOCH, FIRST, LAST
from workbell.timing.zones import resolve_timezone

_BLOCK = 1 << 24  # seconds: 194 days
_LEAD = 3 * DAY  # more than two offsets can differ by
_MOST_BLOCKS = 1024  # five centuries of one zone
_EARLIEST, _LATEST = FIRST - 4 * DAY, LAST + 300 * DAY


class Stretch(NamedTuple):
    """Seconds of UTC, the end excluded, that share one offset; `high` is the latest local second shown before.

    Where local time is set forward, the stretch begins after `high` + 1 (a gap); where it is set back, before (a fold).
    """

    start: int
    end: int
    offset: int
    high: int


class Offsets:
    """The stretches of one zone."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._blocks: dict[int, tuple[Stretch, ...]] = {}
        self._last = Stretch(0, 0, 0, 0)
        if zone.key == "UTC" or (zone.key or "").startswith("Etc/"):  # fixed by definition
            offset = self._offset(0)
            self._last = Stretch(_EARLIEST, _LATEST, offset, _EARLIEST + offset - 1)

    def at(self, second: int) -> Stretch:
        """The stretch in which a second of UTC lies."""
        stretch = self._last
        if stretch.start <= second < stretch.end:
            return stretch
        second = min(max(second, _EARLIEST), _LATEST - 1)
        for stretch in self._block(second // _BLOCK):
            if second < stretch.end:
                break
        self._last = stretch
        return stretch

    def _block(self, number: int) -> tuple[Stretch, ...]:
        found = self._blocks.get(number)
        if found is None:
            if len(self._blocks) >= _MOST_BLOCKS:
                self._blocks.clear()
            found = self._blocks[number] = tuple(self._find_stretches(number * _BLOCK, (number + 1) * _BLOCK))
        return found

    def _find_stretches(self, start: int, end: int) -> list[Stretch]:
        found: list[Stretch] = []
        begin = known = max(start - _LEAD, _EARLIEST)
        end = min(end, _LATEST)
        offset = self._offset(begin)
        high = begin + offset - 1
        while known < end:
            probe = min(known + DAY, end)
            if self._offset(probe) == offset:
                known = probe
                continue
            known = self._find_change(known, probe, offset)
            _add(found, Stretch(begin, known, offset, high), start)
            high = max(high, known - 1 + offset)
            begin, offset = known, self._offset(known)
        _add(found, Stretch(begin, end, offset, high), start)
        return found

    def _find_change(self, low: int, high: int, offset: int) -> int:
        """The first second after `low` with another offset."""
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset(middle) == offset:
                low = middle
            else:
                high = middle
        return high

    def _offset(self, second: int) -> int:
        offset = (EPOCH + timedelta(0, second)).astimezone(self._zone).utcoffset()
        return 0 if offset is None else offset.days * DAY + offset.seconds


def _add(found: list[Stretch], stretch: Stretch, start: int) -> None:
    """Add the part of a stretch that lies in the block that begins at `start`."""
    begin, end, offset, high = stretch
    if begin < start:
        begin, high = start, max(high, start - 1 + offset)
    if begin < end:
        found.append(Stretch(begin, end, offset, high))


@lru_cache(maxsize=256)
def offsets_of(timezone: str) -> Offsets:
    """The stretches of a zone, shared by everything that uses it."""
    return Offsets(resolve_timezone(timezone))
