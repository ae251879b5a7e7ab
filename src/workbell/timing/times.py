"""Times of day of a cron expression, as three sets of bits: hours, minutes and seconds."""

from __future__ import annotations


class Times:
    """Seconds of the day, from 0 to 86,399, whose hour, minute and second are all in their sets."""

    __slots__ = ("_least_minute", "_least_second", "first", "hours", "last", "minutes", "number", "seconds")

    def __init__(self, hours: int, minutes: int, seconds: int) -> None:
        self.hours, self.minutes, self.seconds = hours, minutes, seconds
        self._least_second = _least(seconds)
        self._least_minute = _least(minutes) * 60 + self._least_second
        self.first = _least(hours) * 3600 + self._least_minute
        self.last = (hours.bit_length() - 1) * 3600 + (minutes.bit_length() - 1) * 60 + seconds.bit_length() - 1
        self.number = hours.bit_count() * minutes.bit_count() * seconds.bit_count()

    def at_or_after(self, second_of_day: int) -> int:
        """The first match that is not before a second of the day; -1 if none is left."""
        hour, rest = divmod(second_of_day, 3600)
        if self.hours >> hour & 1:
            minute, second = divmod(rest, 60)
            if self.minutes >> minute & 1:
                left = self.seconds >> second
                if left:
                    return second_of_day + (left & -left).bit_length() - 1
            left = self.minutes >> minute + 1
            if left:
                return hour * 3600 + (minute + (left & -left).bit_length()) * 60 + self._least_second
        left = self.hours >> hour + 1
        if left:
            return (hour + (left & -left).bit_length()) * 3600 + self._least_minute
        return -1

    def at_or_before(self, second_of_day: int) -> int:
        """The last match that is not after a second of the day; -1 if there is none."""
        hour, rest = divmod(second_of_day, 3600)
        if self.hours >> hour & 1:
            minute, second = divmod(rest, 60)
            if self.minutes >> minute & 1:
                left = self.seconds & (2 << second) - 1
                if left:
                    return second_of_day - second + left.bit_length() - 1
            left = self.minutes & (1 << minute) - 1
            if left:
                return hour * 3600 + (left.bit_length() - 1) * 60 + self.seconds.bit_length() - 1
        left = self.hours & (1 << hour) - 1
        if left:
            return (left.bit_length() - 1) * 3600 + self.last % 3600
        return -1

    def before(self, second_of_day: int) -> int:
        """How many matches lie before a second of the day."""
        hour, rest = divmod(second_of_day, 3600)
        minute, second = divmod(rest, 60)
        hours = (self.hours & (1 << hour) - 1).bit_count()
        if not self.hours >> hour & 1:
            return hours * self.minutes.bit_count() * self.seconds.bit_count()
        minutes = hours * self.minutes.bit_count() + (self.minutes & (1 << minute) - 1).bit_count()
        if not self.minutes >> minute & 1:
            return minutes * self.seconds.bit_count()
        return minutes * self.seconds.bit_count() + (self.seconds & (1 << second) - 1).bit_count()


def _least(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
