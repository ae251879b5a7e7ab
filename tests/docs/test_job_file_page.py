"""The page about job files (A2, A4) lists every setting that a file may have."""

from __future__ import annotations

from tests.docs.pages import DOCS, table_rows, text_of
from workbell.job_files import DEFAULT_RETRY
from workbell.job_files.settings import SETTINGS

TEXT = text_of(DOCS / "how-to" / "job-files.md")


def test_every_setting_is_listed() -> None:
    rows = table_rows(TEXT, "Settings of a file")
    assert sorted(row[0].strip("`") for row in rows) == sorted(SETTINGS)


def test_the_default_of_retries_is_right() -> None:
    row = next(row for row in table_rows(TEXT, "Settings of a file") if row[0] == "`retry`")
    assert row[2] == f"{DEFAULT_RETRY.attempts} attempts, {DEFAULT_RETRY.delay:g} seconds apart"
    assert (DEFAULT_RETRY.factor, DEFAULT_RETRY.jitter) == (1, 0)
