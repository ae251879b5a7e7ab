"""Project checks of the doctor: job files that other users can write, stored files that they can read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from workbell.doctor.finding import MOST, Finding, with_remedy
from workbell.doctor.modes import mode_findings
from workbell.errors import Untrusted
from workbell.job_files.discover import find_files
from workbell.job_files.locations import ProjectFolders
from workbell.settings import Settings
from workbell.trust.files import check


def project_findings(folder: Path, settings: Settings) -> Iterator[Finding]:
    untrusted = []
    for found in find_files(ProjectFolders(folder, settings.jobs))[0]:
        try:
            check(found.file)
        except Untrusted as error:
            untrusted.append(f"{found.path}: {error.reason}")
        except FileNotFoundError:  # gone since it was listed
            continue
    for text in untrusted[:MOST]:
        yield with_remedy("risk", "trust", text)
    if len(untrusted) > MOST:
        yield Finding("risk", "trust", f"and {len(untrusted) - MOST:,} more.")
    storage = folder / settings.storage
    yield from mode_findings(storage, quote(str(storage)))
