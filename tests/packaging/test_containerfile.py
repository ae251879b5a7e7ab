"""Containerfile and compose file as texts: who runs, what is checked, and that nothing is left to chance.

`make test-wheel` does their steps (tests/wheel/test_container.py).
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests.support.clean_venv import ROOT
from tests.support.containerfile import Step, read_command, read_steps


def steps() -> list[Step]:
    return read_steps((ROOT / "Containerfile").read_text("utf-8"))


def the(word: str) -> str:
    """The text of the last such instruction, which holds."""
    return [step.text for step in steps() if step.word == word][-1]


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    return found


def test_steps_are_read_without_comments_and_with_continued_lines() -> None:
    text = '# no\nfrom a AS b\n\nRUN one \\\n    two\n  # no\nHEALTHCHECK --retries=3 CMD ["x", "y z"]\n'
    read = read_steps(text)
    assert read[:2] == [Step("FROM", "a AS b"), Step("RUN", "one  two")]
    assert read_command(read[2].text) == ["x", "y z"]


def test_the_image_runs_as_a_number_that_is_not_root() -> None:
    """A number, because a cluster that demands `runAsNonRoot` cannot tell who a name is."""
    user, group = map(int, the("USER").split(":"))
    assert user > 0
    assert group > 0
    words = [step.word for step in steps()]
    assert "COPY" not in words[words.index("USER") :], "what is copied belongs to root"
    assert "RUN" not in words[words.index("USER") :]


def test_both_stages_stand_on_the_same_slim_python() -> None:
    assert {step.text.split()[0] for step in steps() if step.word == "FROM"} == {"python:3.13-slim"}


def test_command_and_health_check_are_lists_so_that_signals_arrive() -> None:
    assert read_command(the("CMD")) == ["workbell", "start"]
    assert read_command(the("HEALTHCHECK")) == ["workbell", "probe"]
    assert "WORKBELL_PROBE=" in " ".join(step.text for step in steps() if step.word == "ENV")


def test_the_compose_file_has_a_database_a_server_and_two_workers() -> None:
    found = services()
    assert found.keys() == {"db", "server", "worker"}
    assert found["worker"]["scale"] == 2
    for name in ("server", "worker"):
        assert found[name]["depends_on"] == {"db": {"condition": "service_healthy"}}
        assert int(found[name]["stop_grace_period"].removesuffix("s")) > 25, "`grace`"
    assert found["server"]["ports"] == ["127.0.0.1:8321:8321"], "nobody else reaches it unless you say so"


def test_no_password_is_written_down() -> None:
    text = (ROOT / "compose.yaml").read_text("utf-8")
    assert re.findall(r"PASSWORD: (.)", text) == ["$"]
    assert re.findall(r"://workbell:(..)", text) == ["${"]
