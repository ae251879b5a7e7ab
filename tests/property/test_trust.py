"""Trust in files: the decision, for any owner, group and mode."""

from __future__ import annotations

import stat

from hypothesis import given
from hypothesis import strategies as st

from workbell.trust.decide import Doubt, Facts, Trusted, doubt_about

ids = st.integers(0, 5)
facts = st.builds(Facts, ids, ids, st.integers(0, 0o7777), st.booleans(), st.booleans())
trusts = st.builds(Trusted, st.frozensets(ids), st.frozensets(ids))


@given(facts, trusts)
def test_nothing_that_another_can_write_is_trusted(facts: Facts, trusted: Trusted) -> None:
    """Told as who could write it, and not in the order of the code."""
    others_write = not facts.read_only and bool(
        facts.mode & stat.S_IWOTH or (facts.mode & stat.S_IWGRP and facts.group not in trusted.groups)
    )
    replaced_by_others = others_write and not (facts.is_folder and facts.mode & stat.S_ISVTX)
    expected = facts.owner in trusted.owners and not replaced_by_others
    assert (doubt_about(facts, trusted) is None) == expected


@given(facts, trusts, st.integers(0, 0o7777))
def test_fewer_rights_are_never_trusted_less(facts: Facts, trusted: Trusted, kept: int) -> None:
    """To take rights to write away from group and others is always a remedy, never a new doubt."""
    tighter = facts._replace(mode=facts.mode & (kept | ~0o022))
    if doubt_about(facts, trusted) is None:
        assert doubt_about(tighter, trusted) is None
    without = facts._replace(mode=facts.mode & ~0o022)
    assert doubt_about(without, trusted) in (None, Doubt.OWNER)


@given(facts, trusts, st.frozensets(ids), st.frozensets(ids))
def test_more_trust_is_never_more_doubt(
    facts: Facts, trusted: Trusted, owners: frozenset[int], groups: frozenset[int]
) -> None:
    if doubt_about(facts, trusted) is None:
        assert doubt_about(facts, Trusted(trusted.owners | owners, trusted.groups | groups)) is None


@given(facts, trusts)
def test_the_doubt_names_its_cause(facts: Facts, trusted: Trusted) -> None:
    match doubt_about(facts, trusted):
        case Doubt.OWNER:
            assert facts.owner not in trusted.owners
        case Doubt.EVERYBODY:
            assert facts.owner in trusted.owners
            assert facts.mode & stat.S_IWOTH
        case Doubt.GROUP:
            assert facts.owner in trusted.owners
            assert not facts.mode & stat.S_IWOTH
            assert facts.group not in trusted.groups
        case None:
            assert facts.owner in trusted.owners
