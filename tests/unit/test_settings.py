"""Settings: flag > environment > workbell.toml > default, and what is unset never hides the level below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict
from rich.pretty import pretty_repr

from workbell import SettingsError, Workbell
from workbell.cli.project import Project
from workbell.model.state import Retention
from workbell.settings import Settings, find_file, load, warn_of_misspelt

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
    texts |= {"webhook_allow": "10.0.0.0/8", "webhook_disable_after": "70", "http_hosts": "a.example.com, b"}
    texts |= {"http": "no", "http_metrics_open": "on", "http_auth": "none", "http_log": "problems"}
    texts |= {"http_body_limit": "2048", "http_public_url": "https://jobs.example.com"}
    texts |= {"http_trusted_proxies": "10.0.0.0/8, ::1", "probe": "127.0.0.1:8322"}
    read: dict[str, Any] = {"webhook_allow": ("10.0.0.0/8",), "http_hosts": ("a.example.com", "b")}
    read |= {"http": False, "http_metrics_open": True, "http_trusted_proxies": ("10.0.0.0/8", "::1")}
    given = {name: texts.get(name, "7") for name in Settings.__struct_fields__}
    found = asdict(load(environment={f"WORKBELL_{name.upper()}": text for name, text in given.items()}))
    shown = {name: value if name in read else str(value).removesuffix(".0") for name, value in found.items()}
    assert shown == given | read


def test_a_list_comes_with_commas_or_as_a_list(tmp_path: Path) -> None:
    wanted = ("10.0.0.0/8", "[::1]:8080", "*.internal")
    assert load(environment={"WORKBELL_WEBHOOK_ALLOW": " 10.0.0.0/8,[::1]:8080 , *.internal,"}).webhook_allow == wanted
    file = tmp_path / "workbell.toml"
    file.write_text('webhook_allow = ["10.0.0.0/8", "[::1]:8080", "*.internal"]\n')
    assert load(environment={}, file=file).webhook_allow == wanted
    assert load(environment={"WORKBELL_WEBHOOK_ALLOW": "::1"}, file=file).webhook_allow == ("::1",)
    assert load(environment={"WORKBELL_WEBHOOK_ALLOW": ""}).webhook_allow == ()
    file.write_text('webhook_allow = "10.0.0.0/8"\n')
    with pytest.raises(SettingsError, match="webhook_allow"):
        load(environment={}, file=file)


def test_passwords_and_keys_are_not_shown() -> None:
    found = load({"secret_key": "canary", "url": "postgresql://me:canary@host/db"}, environment={})
    for shown in (repr(found), str(found), pretty_repr(found), f"{Project(found, None)}", f"{[found]}"):
        assert "canary" not in shown
    assert "secret_key='…'" in repr(found)
    assert "secret_key=None" in repr(Settings())
    with pytest.raises(SettingsError) as caught:
        load({"secret_key": ["canary"]}, environment={})
    assert "canary" not in str(caught.value)


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
        ("webhook_allow", "10.0.0.0/33"),
        ("webhook_allow", "127.0.0.1,https://hooks.internal"),
        ("http_public_url", "jobs.example.com"),
        ("http_trusted_proxies", "127.0.0.1,proxy.internal"),
    ],
)
def test_an_error_names_the_setting(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load(environment={f"WORKBELL_{name.upper()}": value})


def test_an_empty_public_url_is_refused_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "workbell.toml"
    file.write_text('http_public_url = ""\n')
    with pytest.raises(SettingsError, match=r"/workbell\.toml: http_public_url: '' is no URL of a website; write"):
        load(environment={}, file=file)


def test_an_unknown_setting_in_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "workbell.toml"
    file.write_text('colour = "blue"\n')
    with pytest.raises(SettingsError, match=r"/workbell\.toml: there is no setting 'colour'; the settings are app, "):
        load(environment={}, file=file)


def test_an_error_says_where_the_setting_stands(tmp_path: Path) -> None:
    file = tmp_path / "workbell.toml"
    file.write_text('concurrency = "many"\ngrace = 1\n')
    with pytest.raises(SettingsError) as caught:
        load(environment={}, file=file)
    assert str(caught.value) == (
        f"{file}: concurrency: expected int, got str; give it a value of that type, such as 10."
    )
    file.write_text('concurrency = 0\nurll = "memory://"\n')
    with pytest.raises(SettingsError, match=rf"^{file}: there is no setting 'urll'; did you mean url=\? The settings"):
        load(environment={}, file=file)
    file.write_text("concurrency = 0\n")
    with pytest.raises(SettingsError, match=rf"^{file}: concurrency = 0 is not from 1 to 10000\.$"):
        load(environment={}, file=file)
    with pytest.raises(SettingsError, match=r"^WORKBELL_CONCURRENCY: concurrency: expected int, got str; .*such as 10"):
        load(environment={"WORKBELL_CONCURRENCY": "many"}, file=file)
    with pytest.raises(SettingsError, match=r"^WORKBELL_HTTP: http: expected bool, got str; .* such as true\.$"):
        load(environment={"WORKBELL_HTTP": "maybe"})
    with pytest.raises(SettingsError, match=r"^Settings: concurrency = 0 is not"):
        load({"concurrency": 0}, environment={"WORKBELL_CONCURRENCY": "5"}, file=file)
    file.write_text("webhook_allow = [5]\n")
    with pytest.raises(SettingsError, match=rf"^{file}: webhook_allow: expected str, got int at \[0\]; "):
        load(environment={}, file=file)
    file.write_text('webhook_allow = ["10.0.0.0/33"]\n')
    with pytest.raises(SettingsError, match=rf"^{file}: webhook_allow: '10.0.0.0/33'"):
        load(environment={}, file=file)


def test_a_variable_that_is_nearly_a_setting(caplog: pytest.LogCaptureFixture) -> None:
    # The last two are what Kubernetes sets beside a service of this name.
    names = "WORKBELL_URLL WORKBELL_LOGLEVEL WORKBELL_URL WORKBELL_RUN WORKBELL_PORT WORKBELL_SERVICE_HOST".split()
    for _ in range(2):
        warn_of_misspelt(dict.fromkeys(names, "x"))
    assert [record.getMessage() for record in caplog.records] == [
        "WORKBELL_URLL is no setting and is ignored; did you mean WORKBELL_URL?",
        "WORKBELL_LOGLEVEL is no setting and is ignored; did you mean WORKBELL_LOG_LEVEL?",
    ]


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


def test_how_long_things_are_kept() -> None:
    kept = {"SUCCEEDED": "1", "OTHER": "2", "EVENTS": "3", "AUDIT": "4"}
    found = load(environment={f"WORKBELL_KEEP_{name}": text for name, text in kept.items()}).keep
    assert [span.total_seconds() for span in found] == [1, 2, 3, 4]
    assert Settings().keep == Retention()


def test_a_url_beside_settings_is_refused() -> None:
    """One of the two would be ignored."""
    with pytest.raises(SettingsError, match=r"Settings\(url=…\)"):
        Workbell("sqlite:///one.db", settings=Settings(url="memory://"))
