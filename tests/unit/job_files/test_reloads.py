"""What is kept of reloads: the newest, and whatever is still wrong."""

from __future__ import annotations

import pytest

from tests.support.project_folder import ProjectFolder
from workbell.job_files import Reloads
from workbell.job_files import reloads as reloads_module


def test_what_is_wrong_stands_until_it_is_mended(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while so much is saved that other entries are forgotten; of two problems of a file the one that is left."""
    monkeypatch.setattr(reloads_module, "MOST", 3)
    files, reloads = project.open(), Reloads()

    def look() -> None:
        change = files.reload()
        reloads.note(change, change.problems, project.folder)

    def standing() -> list[tuple[str, int | None]]:
        return [(one.path, one.line) for one in reloads.newest() if one.standing]

    project.job("other.py")
    project.write("jobs/broken.py", 'schedule = "never"\ntimezone = "Mars"\ndef run(): ...\n')
    look()
    assert sorted(standing()) == [("jobs/broken.py", 1), ("jobs/broken.py", 2)]
    project.write("jobs/broken.py", 'schedule = "0 * * * *"\ntimezone = "Mars"\ndef run(): ...\n')
    look()
    assert standing() == [("jobs/broken.py", 2)]
    for number in range(4):
        project.job("other.py", f"return {number}")
        look()
    assert standing() == [("jobs/broken.py", 2)]
    assert len(reloads.newest()) == 4
    project.job("broken.py")
    look()
    assert standing() == []
