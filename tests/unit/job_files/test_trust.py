"""Job files of others, while a project runs: not loaded, told of once, and the rest goes on."""

from __future__ import annotations

from tests.support.foreign import hand_over, take_back
from tests.support.project_folder import ProjectFolder, results, shown


def test_a_file_that_is_dropped_later(project: ProjectFolder) -> None:
    project.job("mine.py", "return 1")
    files = project.open()
    assert results(files.reload().loaded) == {"mine": 1}
    word = hand_over(project.job("dropped.py", before="raise SystemExit('it ran')\n"))
    project.job("another.py", "return 2")
    change = files.reload()
    assert results(change.loaded) == {"mine": 1, "another": 2}
    [problem] = shown(change.problems)
    assert problem.startswith("jobs/dropped.py: it ")
    assert word in problem
    assert "it ran" not in problem


def test_a_file_that_is_replaced_keeps_its_last_good_version(project: ProjectFolder) -> None:
    file = project.job("mine.py", "return 'good'")
    files = project.open()
    files.reload()
    project.job("mine.py", "return 'evil'")
    hand_over(file)
    change = files.reload()
    assert results(change.loaded) == {"mine": "good"}
    assert len(change.problems) == 1
    project.job("mine.py", "return 'better'")
    take_back(file)
    change = files.reload()
    assert results(change.loaded) == {"mine": "better"}
    assert change.problems == []


def test_a_helper_that_is_replaced(project: ProjectFolder) -> None:
    helper = project.write("jobs/_helper.py", "value = 'good'\n")
    project.job("mine.py", "return value", before="from jobs._helper import value\n")
    files = project.open()
    files.reload()
    project.write("jobs/_helper.py", "value = 'evil'\n")
    hand_over(helper)
    change = files.reload()
    assert results(change.loaded) == {"mine": "good"}
    assert [problem.path for problem in change.problems] == ["jobs/_helper.py"]
