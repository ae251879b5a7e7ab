"""Trusted files: they are read, or an error says who else could have written one, and what to do about it.

Checked are the file, its folder (a user who can write there can replace the file), and each symbolic link on the way
with its folder. Windows has no owners and modes in this sense, so nothing is checked there. Access control lists
are not checked.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, assert_never

from workbell.errors import SettingsError, Untrusted
from workbell.trust.decide import Doubt, Facts, Trusted, doubt_about

VARIABLE = "WORKBELL_TRUST"
ROOT = 0
MOST_LINKS = 40  # as in Linux

_vouched: set[tuple[Path, int]] = set()


class PathPart(NamedTuple):
    """One thing on the way to a file, and what it is: `it`, `its folder …` or `the link …`."""

    path: Path
    facts: Facts
    named: str
    is_link: bool = False


def read(file: Path) -> bytes:
    """The content of a file that is trusted. It is opened first, and what was opened is checked."""
    with file.open("rb") as source:
        check(file, os.fstat(source.fileno()))
        return source.read()


def check(file: Path, about: os.stat_result | None = None) -> None:
    """Raise `Untrusted` for a file that others could have written, or its folder; `about` is that of the open file."""
    if not hasattr(os, "geteuid"):  # Windows
        return
    folders, trusted = _folders(), _trusted()
    for part in _parts(Path(os.path.abspath(file)), about):  # noqa: PTH100  a link stays one
        if doubt_about(part.facts, trusted) is None:
            continue  # nearly always, and before the path is resolved, which takes longer than all the rest
        real = part.path.parent.resolve() / part.path.name
        doubt = doubt_about(part.facts, _trusted(real))
        if doubt is not None and not any(real.is_relative_to(folder) for folder in folders):
            reason = _reason(part, doubt)
            raise Untrusted(f"{_shown(file)}: {reason}", reason)


def vouch_for(file: Path, folder: Path) -> None:
    """The user has named this file: its owner is trusted with everything in the folder from now on."""
    if hasattr(os, "geteuid"):
        _vouched.add((folder.resolve(), file.stat().st_uid))


def _trusted(path: Path | None = None) -> Trusted:
    """Users that are trusted anywhere; with a path, also those trusted there, as the user named a file of theirs."""
    named = {owner for folder, owner in _vouched if path is not None and path.is_relative_to(folder)}
    owners = {os.geteuid(), ROOT, *_running(), *named}
    return Trusted(frozenset(owners), frozenset({os.getegid(), ROOT}))


def _running() -> Iterator[int]:
    """The owners of Workbell itself and of the program: what they wrote runs already."""
    program = getattr(sys.modules.get("__main__"), "__file__", None)
    for file in (__file__, program):
        if file is not None:
            try:
                yield os.stat(file).st_uid  # noqa: PTH116
            except OSError:  # it is in an archive, or gone
                continue


def _folders() -> list[Path]:
    """The folders of WORKBELL_TRUST. Only the environment names them: a file cannot vouch for itself."""
    found = []
    for text in os.environ.get(VARIABLE, "").split(os.pathsep):
        folder = Path(text.strip())
        if text.strip() and not folder.is_absolute():
            raise SettingsError(f"{VARIABLE}: {text.strip()!r} depends on where you are; write an absolute path.")
        if text.strip():
            found.append(folder.resolve())
    return found


def _parts(path: Path, about: os.stat_result | None, *, folder: str | None = None) -> Iterator[PathPart]:
    """Everything that decides what is read: links on the way, the file, and the folder that it is in."""
    here = path
    for _ in range(MOST_LINKS):
        if not here.is_symlink():
            break
        link = here.lstat()
        yield PathPart(here, Facts(link.st_uid, link.st_gid, stat.S_IRWXU), f"the link {_shown(here)}", True)
        yield from _parts(here.parent, None, folder=f"its folder {_shown(here.parent)}")
        here = here.parent.resolve() / here.readlink()
    yield PathPart(here, _facts(here, about or here.stat()), folder or ("it" if here == path else _shown(here)))
    if folder is None:
        yield from _parts(here.parent, None, folder=f"its folder {_shown(here.parent)}")


def _facts(path: Path, about: os.stat_result) -> Facts:
    writable = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    read_only = bool(writable) and bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    mode = stat.S_IMODE(about.st_mode)
    return Facts(about.st_uid, about.st_gid, mode, stat.S_ISDIR(about.st_mode), read_only)


def _reason(part: PathPart, doubt: Doubt) -> str:
    """Who could have written it, and the remedy."""
    facts, target = part.facts, shlex.quote(_shown(part.path))
    folder = part.path if facts.is_folder else part.path.parent
    trust = f"{VARIABLE}={shlex.quote(_shown(folder))}"
    match doubt:
        case Doubt.OWNER:
            own = "root" if os.geteuid() == ROOT else "you or root"
            who, option = f"belongs to {_user(facts.owner)}, and not to {own}", "-h " if part.is_link else ""
            remedy = f"if you know what is in it, `chown {option}{os.geteuid()} {target}`"
        case Doubt.EVERYBODY:
            who, remedy = f"can be written by everybody (mode {facts.mode:04o})", f"`chmod o-w {target}`"
        case Doubt.GROUP:
            who = f"can be written by the group {_group(facts.group)} (mode {facts.mode:04o}), which is not your own"
            remedy = f"`chmod g-w {target}`"
        case _:  # pragma: no cover
            assert_never(doubt)
    return f"{part.named} {who}, so it is not used; {remedy}, or trust them: {trust}."


def _user(uid: int) -> str:
    import pwd  # only to say it

    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _group(gid: int) -> str:
    import grp

    try:
        return f"{grp.getgrgid(gid).gr_name} (gid {gid})"
    except KeyError:
        return f"gid {gid}"


def _shown(path: Path) -> str:
    """A path for a terminal: others may have chosen the name."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(path))
