"""Settings: flag > environment > workbell.toml > default, and what is unset never hides the level below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbell import SettingsError
from workbell.settings import Settings, find_file, load

FLAG, ENVIRONMENT, FILE = {"concurrency": 3}, {"WORKBELL_CONCURRENCY": "4"}, "concurrency = 5\n"


@pytest.mark.parametrize(
    ("flags", "environment", "text", "wanted"),
    [
        (FLAG, ENVIRONMENT, FILE, 3),
        (FLAG, ENVIRONMENT, "", 3),
        (FLAG, {}, FILE, 3),
        (FLAG, {}, "", 3),
        ({}, ENVIRONMENT, FILE, 4),
        ({}, ENVIRONMENT, "", 4),
        ({}, {}, FILE, 5),
        ({}, {}, "", Settings().concurrency),
        # Not given, in the way of each level, is not the default: the level below shows through.
        ({"concurrency": None}, ENVIRONMENT, FILE, 4),
        ({"concurrency": None}, {"WORKBELL_CONCURRENCY": ""}, FILE, 5),
        ({"concurrency": None}, {}, "", Settings().concurrency),
        # Given, and equal to the default: that counts as given.
        ({"concurrency": Settings().concurrency}, ENVIRONMENT, FILE, Settings().concurrency),
        ({}, {"WORKBELL_CONCURRENCY": str(Settings().concurrency)}, FILE, Settings().concurrency),
    ],
)
def test_precedence(flags: dict[str, Any], environment: dict[str, str], text: str, wanted: int, tmp_path: Path) -> None:
    file = tmp_path / "workbell.toml"
    file.write_text(text)
    assert load(flags, environment=environment, file=file).concurrency == wanted


def test_levels_are_mixed_setting_by_setting(tmp_path: Path) -> None:
    file = tmp_path / "workbell.toml"
    file.write_text('app = "shop:bell"\nlease = 12\ntenant = "a"\n')
    found = load({"tenant": "c"}, environment={"WORKBELL_LEASE": "13.5", "WORKBELL_TENANT": "b"}, file=file)
    assert (found.app, found.lease, found.tenant, found.poll) == ("shop:bell", 13.5, "c", Settings().poll)


def test_every_setting_can_come_from_the_environment() -> None:
    texts = {"url": "memory://", "app": "a:b", "tenant": "t", "log_level": "debug", "log_format": "json"}
    given = {name: texts.get(name, "7") for name in Settings.__struct_fields__}
    found = load(environment={f"WORKBELL_{name.upper()}": text for name, text in given.items()})
    assert {name: str(getattr(found, name)).removesuffix(".0") for name in given} == given


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("concurrency", "many"),
        ("concurrency", "0"),
        ("lease", "0"),
        ("lease", "nan"),
        ("poll", "-1"),
        ("grace", "inf"),
        ("log_level", "loud"),
        ("log_format", "xml"),
    ],
)
def test_an_error_names_the_setting(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load(environment={f"WORKBELL_{name.upper()}": value})


def test_an_unknown_setting_in_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "workbell.toml"
    file.write_text('colour = "blue"\n')
    with pytest.raises(SettingsError, match=r"no setting 'colour'; the settings are url, app"):
        load(environment={}, file=file)


@pytest.mark.parametrize("content", [b"url = ", b"\xff\xfe"])
def test_a_file_that_cannot_be_read(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "workbell.toml"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"workbell\.toml: "):
        load(environment={}, file=file)


def test_a_relative_file_in_the_toml_is_beside_it(tmp_path: Path) -> None:
    """From whichever folder below a command is called, it is the same store."""
    file = tmp_path / "workbell.toml"
    file.write_text('url = "sqlite:///shop.db"\n')
    assert load(environment={}, file=file).url == f"sqlite:///{tmp_path}/shop.db"
    file.write_text('url = "sqlite:////var/shop.db"\n')
    assert load(environment={}, file=file).url == "sqlite:////var/shop.db"
    assert load({"url": "sqlite:///here.db"}, environment={}, file=file).url == "sqlite:///here.db"


def test_the_nearest_file_above_is_found(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "workbell.toml").touch()
    assert find_file(below) == tmp_path / "workbell.toml"
    (tmp_path / "a" / "workbell.toml").touch()
    assert find_file(below) == tmp_path / "a" / "workbell.toml"
    (tmp_path / "a" / "b" / "workbell.toml").mkdir()
    assert find_file(below) == tmp_path / "a" / "workbell.toml"
