"""The public types: mypy and pyright accept every right call and report every wrong one, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CALLS = HERE / "calls.py"
ROOT = HERE.parents[1]


def planted() -> set[int]:
    lines = CALLS.read_text("utf-8").splitlines()
    found = {number for number, line in enumerate(lines, 1) if line.endswith("  # error")}
    assert len(found) > 20
    return found


def by_mypy(_folder: Path) -> dict[int, str]:
    # With the settings and the cache of `make check`: what that has seen need not be read again.
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml"]
    done = subprocess.run([*command, CALLS], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(\S*?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert all(file.endswith(CALLS.name) for file, _, _ in found)
    return {int(line): message for _, line, message in found}


def by_pyright(folder: Path) -> dict[int, str]:
    copy = folder / CALLS.name  # its settings name only files below them
    copy.write_text(CALLS.read_text("utf-8"))
    settings = folder / "pyrightconfig.json"
    settings.write_text(
        json.dumps({"include": [copy.name], "extraPaths": [str(ROOT / "src")], "typeCheckingMode": "strict"})
    )
    # basedpyright is pyright in a wheel of its own; the other wheel fetches it at first use.
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", settings]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["summary"]["filesAnalyzed"] == 1
    reports = answer["generalDiagnostics"]
    assert all(report["file"].endswith(CALLS.name) for report in reports)
    return {
        report["range"]["start"]["line"] + 1: report["message"] for report in reports if report["severity"] == "error"
    }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_exactly_the_planted_errors_are_reported(checker: object, tmp_path: Path) -> None:
    assert callable(checker)
    reported = checker(tmp_path)
    lines = CALLS.read_text("utf-8").splitlines()
    missed = [lines[number - 1].strip() for number in sorted(planted() - set(reported))]
    false = [f"{lines[number - 1].strip()}: {text}" for number, text in reported.items() if number not in planted()]
    assert not missed, "wrong calls that were not reported"
    assert not false, "right lines that were reported"
