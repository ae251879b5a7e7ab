"""Fields of the API are written once: a place that lists them again is named here with its reason, or it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.wire.second_lists import answer_fields, repeats, second_lists

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src/workbell"
STATIC = PACKAGE / "http/dashboard/static"

# Whole folders and files, by the beginning of their paths.
LEFT_OUT = {
    "src/workbell/wire/": "the structs themselves, and examples of their bodies",
    "src/workbell/stores/": "columns of tables and parameters of statements: names of the store, which may differ",
    "src/workbell/testing/contracts/": "values that the tests of a store are made of",
    "src/workbell/remote/verbs.py": "generated",
    "src/workbell/http/dashboard/static/vendor/": "not ours",
}
COLUMNS = "columns or facts that people read: a choice"
FILTER = "words of a filter of runs, each with its own meaning"
OPTIONS = "options of a declaration, each read in its own way"
AUDITED = "the part of it that the audit log keeps"
CHANGES = "the part of a definition that is compared or replaced"
FORMAT = "a format of its own that others read"
KNOWN = {
    "docs/words.py": {"OTHER_OPTIONS": "options of verbs, which are not of the API"},
    "src/workbell/cli/agents/pair.py": {"pair": AUDITED},
    "src/workbell/cli/events/show.py": {"_facts": COLUMNS},
    "src/workbell/cli/jobs/known.py": {
        "KnownJob.as_dict": "facts of its schedules and its last run, beside the job's own"
    },
    "src/workbell/cli/runs/cancel_retry_why.py": {"why": COLUMNS},
    "src/workbell/cli/runs/show.py": {
        "PLACED": "fields that have a place of their own; all others are shown as they are",
        "NAMES": COLUMNS,
        "SETTINGS": OPTIONS,
    },
    "src/workbell/cli/tokens/create.py": {"create": AUDITED},
    "src/workbell/cli/tokens/list.py": {"_show": COLUMNS},
    "src/workbell/cli/workers/listed.py": {"_show_rewinds": COLUMNS},
    "src/workbell/client/declaring.py": {"JOB_WORDS": OPTIONS, "_settled": OPTIONS},
    "src/workbell/http/dashboard/static/components/run-filter.js": {"FIRST_ROW": FILTER},
    "src/workbell/http/dashboard/static/screens/run.js": {
        "ELSEWHERE": "fields that other parts of the page show; all others are shown as they are"
    },
    "src/workbell/http/routes/schedules.py": {"DEFINITION": CHANGES},
    "src/workbell/job_files/settings.py": {"NOT_GUESSED": OPTIONS, "OF_TICKS": OPTIONS},
    "src/workbell/model/endpoint.py": {"Endpoint.__rich_repr__": "the part of it that is no secret"},
    "src/workbell/model/event.py": {"Event.cloud_event.fields": FORMAT},
    "src/workbell/model/run.py": {"Run.unreadable_columns.found": "its columns of JSON, by their kinds"},
    "src/workbell/model/run_settings.py": {"READERS": OPTIONS},
    "src/workbell/model/trigger.py": {"_WORDS": "our names for those of event jobs"},
    "src/workbell/remote/plans/events.py": {"emit": "arguments of the verb, as a body"},
    "src/workbell/runs/jobs.py": {"Jobs._checked": OPTIONS, "OF_ARGUMENTS": OPTIONS},
    "src/workbell/scheduling/change.py": {"_settings_of": CHANGES},
    "src/workbell/scheduling/control.py": {"TIMING": CHANGES, "redefine": CHANGES},
    "src/workbell/scheduling/declare.py": {"DEFINITION": CHANGES},
    "src/workbell/webhooks/alert_message.py": {"alert_body": FORMAT},
    "src/workbell/webhooks/replay.py": {"_send": CHANGES},
    "src/workbell/webhooks/verdict.py": {"summary_of": FORMAT},
}


def test_fields_are_listed_once() -> None:
    fields = answer_fields()
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "docs").glob("*.py"), *STATIC.rglob("*.js")]
    paths = {file.relative_to(ROOT).as_posix(): file for file in files}
    found = {
        path: places
        for path, file in sorted(paths.items())
        if not path.startswith(tuple(LEFT_OUT)) and (places := second_lists(file, fields))
    }
    assert found == {path: set(places) for path, places in KNOWN.items()}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("NAMES = ('queue', 'tag', 'target')", "NAMES"),
        ("NAMES = 'queue tag target'.split()", "NAMES"),
        ("def as_dict(run):\n    return {'queue': run.queue, 'tag': run.tag, 'target': run.target}", "as_dict"),
        ("def facts(run):\n    return dict(queue=run.queue, tag=run.tag, target=run.target)", "facts"),
        (
            "class Shown:\n  def facts(run):\n    yield 'queue', 1\n    yield 'tag', 2\n    yield 'key', 3",
            "Shown.facts",
        ),
        ("def facts(run):\n    return [('queue', 1), ('tag', 2), ('key', 3)]", "facts"),
    ],
)
def test_a_second_list_is_found(tmp_path: Path, text: str, place: str) -> None:
    file = tmp_path / "one.py"
    file.write_text(text)
    assert second_lists(file, answer_fields()) == {place}


def test_a_second_list_in_javascript_is_found(tmp_path: Path) -> None:
    file = tmp_path / "one.js"
    file.write_text(
        'const COLUMNS = ["queue", "tag",\n  "target"];\nconst OTHERS = ["queue", "x", "y", "tag", "key"];\n'
    )
    assert second_lists(file, answer_fields()) == {"COLUMNS"}


def test_other_words_are_no_list_of_fields() -> None:
    fields = answer_fields()
    assert not repeats(["queue", "tag"], fields)
    assert not repeats(["queue", "tag", "target", "apples", "pears"], fields)
