"""Workflow files: few permissions, bounds of time, and a release that runs nothing beside its right to publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MINUTES_OF_A_JOB = 360  # the service ends a job then


def load(path: Path) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    return loaded


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = load(path)["jobs"]
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_permissions_time_and_concurrency_are_bounded(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert "group" in workflow["concurrency"]
    for name, job in jobs(path).items():
        assert job["timeout-minutes"] < MINUTES_OF_A_JOB, name
        writes = [scope for scope, kind in job.get("permissions", {}).items() if kind != "read"]
        assert writes == (["id-token"] if name == "publish" else []), name
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name


def test_a_release_publishes_only_what_was_built_and_tested_by_an_environment() -> None:
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    assert release["publish"]["needs"] == "build"
    assert release["publish"]["environment"] == "pypi"
    assert not any("run" in step for step in release["publish"]["steps"]), (
        "nothing of the repository runs beside the right"
    )
