"""`workbell backup FILE` and `workbell restore FILE`: of a SQLite store. For PostgreSQL, the commands that do it."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from workbell.cli.doctor import finding_as_dict, show_report
from workbell.cli.findings import DoctorReport, examine
from workbell.cli.output import echo, make_progress, print_json
from workbell.cli.project import json_option, missing_file, open_project, opened, store_options, store_url
from workbell.cli.schema import OURS, scheme_of
from workbell.doctor.finding import Finding
from workbell.errors import StoreError
from workbell.settings import safe_url
from workbell.stores.database import Statement
from workbell.stores.migrate import NEWEST, dump
from workbell.stores.port import Store
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite.store import SqliteStore

FOR_WORKERS = ("unserved", "workers", "schedules")  # no risk yet: workers are started after the check


@click.command(help="Write a checked copy of a SQLite store into a file while it is in use; say how for PostgreSQL.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@store_options
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@json_option
def backup(file: Path, url: str | None, overwrite: bool, as_json: bool) -> None:
    chosen = store_url(open_project(url=url))
    if _is_postgres(chosen):
        raise _by_hand(chosen, backup_commands(chosen, file), as_json, "Nothing was backed up")
    absent = missing_file(chosen)
    if absent is not None:
        raise StoreError(f"There is no store to back up: {absent} does not exist; name it with --url.")
    with opened(chosen) as store:
        from workbell.stores.sqlite.backup import back_up

        database = _sqlite(store, chosen)
        with _interruptible(), make_progress() as progress:
            task = progress.add_task("copying", total=None)
            made = back_up(
                database.file,
                file,
                overwrite=overwrite,
                report=lambda done, total: progress.update(
                    task, completed=done, total=total, description="checking" if done == total else "copying"
                ),
            )
    if as_json:
        print_json({"store": safe_url(chosen), **made._asdict(), "path": str(made.path)})
    else:
        echo(f"{made.path}: {made.bytes:,} bytes, checked. `workbell restore {made.path}` puts it back.")


@click.command(help="Put a backup in the place of a SQLite store, or check a store that was restored.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@store_options
@click.option("--check", "check_only", is_flag=True, help="Only check the store, after it was restored.")
@click.option("--other-store", is_flag=True, help="Replace a store that this is not a backup of.")
@json_option
@click.pass_context
def restore(
    context: click.Context,
    file: Path | None,
    url: str | None,
    check_only: bool,
    other_store: bool,
    as_json: bool,
) -> None:
    if (file is None) is not check_only:
        raise click.UsageError("Give the backup to restore, or --check for a store that was restored; not both.")
    chosen = store_url(open_project(url=url))
    if file is None:
        report = _examine_restored(chosen)
        if as_json:
            findings = [finding_as_dict(finding) for finding in report.findings]
            print_json({"store": safe_url(chosen), "healthy": report.healthy, "findings": findings, **report.numbers})
        else:
            show_report(f"The store {safe_url(chosen)}", report)
        if report.error is not None:
            raise report.error
        context.exit(0 if report.healthy else 1)
    if _is_postgres(chosen):
        raise _by_hand(chosen, restore_commands(chosen, file), as_json, "Nothing was restored")
    with opened(chosen) as store:
        path = _sqlite(store, chosen).file.path
    from workbell.stores.sqlite.backup import restore as restore_file

    with _interruptible(), make_progress() as progress:
        task = progress.add_task("copying", total=None)
        done = restore_file(
            path,
            file,
            other_store=other_store,
            report=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if as_json:
        before = None if done.before is None else str(done.before)
        print_json({"store": safe_url(chosen), **done._asdict(), "before": before})
        return
    echo(f"{safe_url(chosen)}: restored from {file}.")
    if done.before is not None:
        echo(f"The file that was there is {done.before}; remove it when you no longer need it.")
    if done.schema_version < NEWEST:
        echo(f"Its schema is version {done.schema_version}; `workbell migrate` brings it to {NEWEST}.")
    echo("Runs that were running in the backup start again when their leases have ended.")


def backup_commands(url: str, file: Path) -> dict[str, str]:
    """PostgreSQL's own commands, by what they back up. The password is asked for, or comes from ~/.pgpass."""
    target, name = shlex.quote(without_password(url)), shlex.quote(str(file))
    return {
        "the database": f"pg_dump --format=custom --file={name} {target}",
        "the server": f"pg_basebackup --dbname={target} --pgdata={name} --wal-method=stream --checkpoint=fast",
    }


def restore_commands(url: str, file: Path) -> dict[str, str]:
    target, name = shlex.quote(without_password(url)), shlex.quote(str(file))
    return {
        "an empty database": f"pg_restore --exit-on-error --no-owner --dbname={target} {name}",
        "afterwards": f"workbell restore --check --url {target}",
    }


def without_password(url: str) -> str:
    try:
        from workbell.stores.postgres.urls import url_for_others
    except ImportError as error:
        raise StoreError("PostgreSQL needs its driver: pip install 'workbell[postgres]'.") from error
    return url_for_others(url)


def _by_hand(url: str, commands: dict[str, str], as_json: bool, nothing: str) -> StoreError:
    """Print the commands; the error says that they are still to be run, for scripts that expect it done."""
    if as_json:
        print_json({"store": safe_url(url), "commands": commands})
    else:
        for what, command in commands.items():
            echo(f"# {what}\n{command}")
    return StoreError(f"{nothing}: PostgreSQL has commands of its own for that, and they are printed above; run them.")


def _is_postgres(url: str) -> bool:
    return OURS.get(scheme_of(url)) == "postgres"


def _sqlite(store: Store, url: str) -> SqliteStore:
    if not isinstance(store, SqliteStore):
        raise StoreError(f"{safe_url(url)} is no SQLite file; back up what is behind it by its own means.")
    return store


def _examine_restored(url: str) -> DoctorReport:
    """What the doctor finds, and whether every table is there and can be read."""
    absent = missing_file(url)
    if absent is not None:
        raise StoreError(f"There is no store to check: {absent} does not exist; name it with --url.")
    with opened(url) as store:
        known = list(_tables(store))
    report = examine(url, known)
    findings = [
        finding._replace(level="note") if finding.level == "risk" and finding.what in FOR_WORKERS else finding
        for finding in report.findings
    ]
    running = report.numbers.get("counts", {}).get("running", 0)
    if running:
        text = f"{running:,} runs were running when this was backed up; they start again when their leases have ended."
        findings.append(Finding("note", "running", text))
    return report._replace(findings=findings)


def _tables(store: Store) -> Iterator[Finding]:
    if not isinstance(store, SqlStore):
        return
    found = store.database.tables()
    if found is None:
        raise StoreError("There are no tables of Workbell; was the backup restored into this database?")
    yield Finding("ok", "identity", found.store_id)
    names = sorted(set(re.findall(r"^CREATE TABLE (workbell_\w+)", dump(store.engine), re.MULTILINE)))
    unreadable: list[str] = []
    for name in names:
        try:
            store.database.read([Statement("", text=f"SELECT 1 FROM {name} LIMIT 1")])  # noqa: S608
        except StoreError as error:
            unreadable.append(f"{name}: {error}")
    if unreadable:
        yield Finding(
            "risk", "tables", "; ".join(unreadable)[:1000], "restore the backup again, into an empty database."
        )
    else:
        yield Finding("ok", "tables", f"all {len(names)} can be read")


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does, so that nothing unfinished is left."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
