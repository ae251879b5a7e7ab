"""Configuration of an agent: which servers may get its token, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbell.agent_program.config import AgentConfig, checked, read_token, server_address
from workbell.errors import SettingsError

SECRET = "wb_a-very-secret-text"


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1", "http://app.localhost", "ftp://x", "https://", "https://x/?a=1", "https://x:y", "x"]
)
def test_urls_that_cannot_be_used(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^url: "):
        checked(AgentConfig(url=url))


def test_an_error_names_the_agents_own_remedies() -> None:
    with pytest.raises(SettingsError, match=r"use https://, or insecure = true in agent\.toml"):
        checked(AgentConfig(url="http://10.0.0.1"))
    with pytest.raises(SettingsError, match="pair the agent") as caught:
        checked(AgentConfig(url=f"https://u:{SECRET}@x"))
    assert SECRET not in str(caught.value)


def test_urls_that_can() -> None:
    for url in ("http://127.0.0.1:8321", "http://[::1]", "http://localhost", "https://example.com/jobs"):
        assert server_address(AgentConfig(url=f"{url}/")).base == f"{url}/api/v1"
    assert server_address(AgentConfig(url="http://10.0.0.1", insecure=True)).shown == "http://10.0.0.1"


def test_numbers_have_bounds() -> None:
    with pytest.raises(SettingsError, match="capacity"):
        checked(AgentConfig(url="https://x", capacity=0))


@pytest.mark.parametrize("text", ["", "two words", "\x07"])
def test_a_token_that_fits_no_header_is_refused_by_its_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "agent.token"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(SettingsError, match=r"agent\.token: no token can be read there; pair the agent"):
        read_token(file)
    file.write_text(f"{SECRET}\n")
    assert read_token(file) == SECRET
