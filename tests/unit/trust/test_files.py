"""Which files are read, and what is said of one that is not: owners, modes, folders, links, WORKBELL_TRUST."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.support.foreign import IS_ROOT, NOBODY, hand_over
from workbell.errors import SettingsError, Untrusted
from workbell.trust import files
from workbell.trust.decide import Doubt, Facts, doubt_about

ME = 1000


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(files.VARIABLE, raising=False)
    folder = tmp_path / "project"
    folder.mkdir(mode=0o755)
    file = folder / "workbell.toml"
    file.write_bytes(b"tenant = 'a'")
    file.chmod(0o644)
    return file


def refusal(file: Path) -> str:
    with pytest.raises(Untrusted) as caught:
        files.read(file)
    assert str(caught.value) == f"{file}: {caught.value.reason}"
    return caught.value.reason


@pytest.mark.parametrize(("folder", "mode"), [(0o755, 0o644), (0o700, 0o600), (0o775, 0o664), (0o1777, 0o600)])
def test_own_files_are_read(file: Path, folder: int, mode: int) -> None:
    """With a umask of 002 they can be written by one's own group; `/tmp` is sticky."""
    file.chmod(mode)
    file.parent.chmod(folder)
    assert files.read(file) == b"tenant = 'a'"


def test_written_by_everybody(file: Path) -> None:
    file.chmod(0o646)
    text = refusal(file)
    assert text.startswith("it can be written by everybody (mode 0646), so it is not used; ")
    assert f"`chmod o-w {file}`" in text
    assert text.endswith(f"{files.VARIABLE}={file.parent}.")


def test_a_folder_that_everybody_can_write_to(file: Path) -> None:
    file.parent.chmod(0o777)
    text = refusal(file)
    assert text.startswith(f"its folder {file.parent} can be written by everybody (mode 0777)")
    assert f"`chmod o-w {file.parent}`" in text


def test_another_owner(file: Path) -> None:
    """The real one where the tests run as root; otherwise everybody could have written it."""
    word = hand_over(file)
    assert word in refusal(file)
    file.write_bytes(b"")
    assert word in refusal(file)


def test_another_group(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = _about(owner=os.geteuid(), group=4321, mode=0o664)
    with pytest.raises(
        Untrusted, match=r"it can be written by the group gid 4321 \(mode 0664\), which is not your own"
    ):
        files.check(file, about)
    monkeypatch.setattr(os, "getegid", lambda: 4321)
    files.check(file, about)


@pytest.mark.parametrize(
    ("owner", "group", "mode", "doubt"),
    [
        (ME, ME, 0o664, None),  # umask 002, a group of one's own
        (ME, 100, 0o644, None),
        (ME, 100, 0o664, Doubt.GROUP),  # a group of many
        (0, 0, 0o664, None),  # what the administrator has installed
        (2000, 2000, 0o644, Doubt.OWNER),
        (NOBODY, ME, 0o600, Doubt.OWNER),
        (ME, ME, 0o666, Doubt.EVERYBODY),
    ],
)
def test_an_ordinary_user(
    file: Path, monkeypatch: pytest.MonkeyPatch, owner: int, group: int, mode: int, doubt: Doubt | None
) -> None:
    """As seen by uid and gid 1000, whoever runs the tests."""
    monkeypatch.setattr(os, "geteuid", lambda: ME)
    monkeypatch.setattr(os, "getegid", lambda: ME)
    monkeypatch.setattr(files, "_running", lambda: iter(()))
    assert doubt_about(Facts(owner, group, mode), files._trusted(file)) == doubt


def test_the_owner_of_the_program_is_trusted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wrote what is running needs no other file to run code here."""
    about = _about(owner=2000, group=0, mode=0o644)
    with pytest.raises(Untrusted):
        files.check(file, about)
    program = ModuleType("__main__")
    program.__file__ = "/srv/app/main.py"
    real = os.stat
    monkeypatch.setitem(sys.modules, "__main__", program)
    monkeypatch.setattr(os, "stat", lambda path, **kw: about if path == program.__file__ else real(path, **kw))
    files.check(file, about)


def test_what_is_mounted_read_only_is_written_by_nobody(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Kubernetes ConfigMap is a folder of mode 0777 on a read-only mount."""
    file.parent.chmod(0o777)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert files.read(file)


def test_a_link_is_judged_with_its_target(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "links" / "workbell.toml"
    link.parent.mkdir(mode=0o755)
    link.symlink_to(file)
    assert files.read(link)
    link.parent.chmod(0o777)
    assert f"its folder {link.parent} can be written by everybody" in refusal(link)
    link.parent.chmod(0o1777)
    assert files.read(link)
    file.chmod(0o666)
    assert f"{file} can be written by everybody" in refusal(link)
    file.chmod(0o644)
    file.parent.chmod(0o777)
    assert f"its folder {file.parent} can be written" in refusal(link)


def test_a_folder_that_is_a_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "linked"
    link.symlink_to(file.parent)
    assert files.read(link / file.name)
    file.parent.chmod(0o777)
    assert "can be written by everybody" in refusal(link / file.name)


def test_a_link_of_another(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    if IS_ROOT:
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        assert f"the link {link} belongs to" in refusal(link)
        assert f"`chown -h 0 {link}`" in refusal(link)
    judged = list(files._parts(link, None))
    assert [place.path for place in judged] == [link, tmp_path, file, file.parent]
    assert judged[0].facts.owner == link.lstat().st_uid
    assert judged[0].is_link


def test_trusted_folders(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file.chmod(0o666)
    file.parent.chmod(0o777)
    monkeypatch.setenv(files.VARIABLE, f"/nowhere:{tmp_path}")
    assert files.read(file)
    monkeypatch.setenv(files.VARIABLE, f"{tmp_path}/proj")  # the beginning of a name is no folder
    refusal(file)


def test_a_trusted_folder_is_an_absolute_path(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.VARIABLE, ".")
    with pytest.raises(SettingsError, match=r"WORKBELL_TRUST: '\.' depends on where you are; write an absolute path"):
        files.read(file)


def test_names_are_fit_for_a_terminal(file: Path) -> None:
    odd = file.with_name("a\x1b]0;b.py")
    odd.write_bytes(b"")
    odd.chmod(0o666)
    with pytest.raises(Untrusted) as caught:
        files.read(odd)
    assert str(caught.value).isprintable()


def test_without_owners_nothing_is_judged(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    file.chmod(0o666)
    monkeypatch.delattr(os, "geteuid")
    assert files.read(file)


def _about(owner: int, group: int, mode: int) -> os.stat_result:
    return os.stat_result((stat.S_IFREG | mode, 1, 1, 1, owner, group, 0, 0, 0, 0))
