"""Report of `workbell doctor` about the store of a URL, or of a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from workbell.cli.project import missing_file, opened
from workbell.doctor.checks import run_checks
from workbell.doctor.finding import Finding
from workbell.doctor.queue import queue_findings
from workbell.errors import StoreError
from workbell.settings import Settings
from workbell.stores.sqlite.file_guard import FileGuard

if TYPE_CHECKING:
    from workbell.remote.client import Client


LEVELS = {"ok": "ok", "warning": "note", "problem": "risk"}  # by the words of the API


class DoctorReport(NamedTuple):
    findings: list[Finding]
    numbers: dict[str, Any]
    error: StoreError | None = None  # why the checks ended early

    @property
    def healthy(self) -> bool:
        return self.error is None and all(finding.level != "risk" for finding in self.findings)


def examine(url: str, known: Sequence[Finding] = (), settings: Settings | None = None) -> DoctorReport:
    """Run all checks on the store of this URL, and the queue of the settings; `known` findings come first."""
    settings = settings or Settings()
    findings = [*known]
    numbers: dict[str, Any] = {}
    try:
        absent = missing_file(url)
        if absent is not None and absent.parent.is_dir():
            FileGuard(absent).before_open()  # raises if a store was there
            absence = Finding("note", "store", f"{absent} is not there yet; it is made on the first use.")
            return DoctorReport([*known, absence], {})
        with opened(url) as store:
            for finding in run_checks(store, numbers):
                findings.append(finding)
            findings += queue_findings(settings.queue_url, store, settings.poll_pace)
    except StoreError as error:
        findings.append(Finding("risk", "store", str(error)))
        return DoctorReport(findings, numbers, error)
    return DoctorReport(findings, numbers)


def examine_service(client: Client) -> DoctorReport:
    """Have a service run the checks on its store."""
    from workbell.remote.asking import call_of
    from workbell.wire.doctor import examine as operation

    found = client.transport.send(call_of(operation))
    return DoctorReport([Finding(LEVELS[one.state], one.name, one.says, one.remedy) for one in found.items], {})
