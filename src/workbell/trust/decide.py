"""The decision whether a file or folder is trusted: a pure function of what `stat` returns."""

from __future__ import annotations

import stat
from enum import StrEnum
from typing import NamedTuple


class Facts(NamedTuple):
    """What `stat` returns for a file or folder."""

    owner: int
    group: int
    mode: int
    is_folder: bool = False
    read_only: bool = False  # of its mount: nobody can write, whatever the mode


class Trusted(NamedTuple):
    """Trusted owners of files, and groups that may write to them."""

    owners: frozenset[int]
    groups: frozenset[int]


class Doubt(StrEnum):
    OWNER = "owner"
    EVERYBODY = "everybody"
    GROUP = "group"


def doubt_about(facts: Facts, trusted: Trusted) -> Doubt | None:
    """The doubt about a file: who else could have written it; None if nobody could.

    In a sticky folder (`/tmp`) others can add files, but not replace ours; each file is judged by itself.
    """
    if facts.owner not in trusted.owners:
        return Doubt.OWNER
    if facts.read_only or (facts.is_folder and facts.mode & stat.S_ISVTX):
        return None
    if facts.mode & stat.S_IWOTH:
        return Doubt.EVERYBODY
    if facts.mode & stat.S_IWGRP and facts.group not in trusted.groups:
        return Doubt.GROUP
    return None
