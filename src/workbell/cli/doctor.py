"""`workbell doctor`: health checks of the store: fine, to note, at risk. Read-only."""

from __future__ import annotations

import click

from workbell.cli.findings import DoctorReport, examine, examine_service
from workbell.cli.output import LEVELS, can_draw, make_console, print_json, print_lines, printable
from workbell.cli.project import client_options, json_option, open_project, store_url
from workbell.cli.service import connected
from workbell.doctor.finding import Finding
from workbell.doctor.project import project_findings
from workbell.settings import safe_url

ORDER = ("risk", "note", "ok")


@click.command(help="Check the health of the store: what is fine, what to note, what is at risk.")
@client_options
@json_option
@click.pass_context
def doctor(context: click.Context, url: str | None, as_json: bool) -> None:
    project = open_project(url=url)
    if project.service is not None:
        with connected(project.service, project.tenant) as client:
            kind, address, report = "service", client.transport.address.shown, examine_service(client)
    else:
        known = list(project_findings(project.folder, project.settings))
        chosen = store_url(project)
        kind, address, report = "store", safe_url(chosen), examine(chosen, known, project.settings)
    if as_json:
        print_json(
            {
                kind: address,
                "healthy": report.healthy,
                "findings": [finding_as_dict(finding) for finding in report.findings],
                **report.numbers,
            }
        )
    else:
        show_report(f"The {kind} {address}", report)
    if report.error is not None:
        raise report.error
    if not report.healthy:
        context.exit(1)


def finding_as_dict(finding: Finding) -> dict[str, str | None]:
    return {"level": finding.level, "what": finding.what, "text": finding.text, "remedy": finding.remedy}


def show_report(title: str, report: DoctorReport) -> None:
    from rich.text import Text

    console = make_console()
    console.print(f"{title}\n", markup=False)
    symbols = can_draw(console)
    width = max((len(finding.what) for finding in report.findings), default=0)
    lines = []
    for finding in sorted(report.findings, key=lambda finding: ORDER.index(finding.level)):
        symbol, plain, style = LEVELS[finding.level]
        mark = Text(f"{symbol if symbols else plain} ", style).append(f"{finding.what:{width}}  ", "default")
        lines.append((mark, Text(printable(finding.says))))
        if finding.remedy is not None:
            lines.append((Text(" " * (width + 4)), Text(printable(finding.remedy))))
    print_lines(console, lines)
    risks = sum(finding.level == "risk" for finding in report.findings)
    notes = sum(finding.level == "note" for finding in report.findings)
    verdict = f"{risks} at risk, {notes} to note" if risks else f"nothing at risk, {notes} to note"
    console.print(f"\n{verdict}.", style="bold red" if risks else "green")
