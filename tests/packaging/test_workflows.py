"""Workflow files: they call make targets and nothing else, with few permissions, bounds of time and pinned actions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
CALL = re.compile(r"(?:sudo )?make (\S+)(?: TAG=\"\$GITHUB_REF_NAME\")?")
ACTION = re.compile(r"[\w-]+/[\w-]+@(?:release/)?v\d+")
MINUTES_OF_A_JOB = 360  # the service ends a job then


def load(path: Path) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    return loaded


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = load(path)["jobs"]
    return found


def targets(job: dict[str, Any], named: str) -> set[str]:
    """The targets that a step calls: one, or those of the matrix."""
    if named != "${{":
        return {named}
    matrix = job["strategy"]["matrix"]
    return {*matrix["target"], *(one["target"] for one in matrix.get("include", []))}


def test_there_are_workflows_for_checks_nights_and_releases() -> None:
    assert [path.stem for path in WORKFLOWS] == ["checks", "nightly", "release"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_steps_call_make_targets_that_exist_and_pinned_actions(path: Path) -> None:
    for job in jobs(path).values():
        for step in job["steps"]:
            if "run" in step:
                found = CALL.fullmatch(step["run"].replace("${{ matrix.target }}", "${{"))
                assert found is not None, step
                assert targets(job, found[1]) <= TARGETS, step
            else:
                assert ACTION.fullmatch(step["uses"]), step


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


def test_each_supported_python_is_tried() -> None:
    checks = jobs(ROOT / ".github" / "workflows" / "checks.yml")
    named = re.findall(r":: Python :: (3\.\d+)\"", (ROOT / "pyproject.toml").read_text("utf-8"))
    assert checks["quick"]["strategy"]["matrix"]["python"] == named
