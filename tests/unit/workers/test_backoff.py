"""How long a dead child is not replaced: longer and longer, within bounds, and forgotten after a while."""

from __future__ import annotations

from workbell.workers.backoff import FIRST, MOST, STEADY, next_failures, wait_after


def test_the_first_death_costs_a_moment() -> None:
    assert next_failures(0, 0.5) == 1
    assert wait_after(1) == FIRST


def test_quick_deaths_in_a_row_cost_more_and_more_up_to_a_bound() -> None:
    waits = [wait_after(failures) for failures in range(1, 40)]
    assert waits == sorted(waits)
    assert waits[1] == 2 * FIRST
    assert waits[-1] == MOST


def test_a_child_that_lived_for_long_begins_anew() -> None:
    assert next_failures(7, STEADY) == 1
    assert next_failures(7, STEADY - 1) == 8
