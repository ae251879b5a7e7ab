"""What the doctor finds out about a project's folder: job files that are not used because others could write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workbell.doctor.finding import MOST, Finding, with_remedy
from workbell.errors import Untrusted
from workbell.handlers.job_files.discover import find_files
from workbell.handlers.job_files.place import Place
from workbell.trust.files import check


def project_findings(folder: Path, jobs: str) -> Iterator[Finding]:
    told = []
    for found in find_files(Place(folder, jobs))[0]:
        try:
            check(found.file)
        except Untrusted as error:
            told.append(f"{found.path}: {error.reason}")
        except FileNotFoundError:  # gone since it was listed
            continue
    for text in told[:MOST]:
        yield with_remedy("risk", "trust", text)
    if len(told) > MOST:
        yield Finding("risk", "trust", f"and {len(told) - MOST:,} more.")
