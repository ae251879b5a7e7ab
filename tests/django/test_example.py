"""The example of a Django project has the files of its page, and the page the table of tests that are left out."""

from __future__ import annotations

import importlib.util
from collections import defaultdict

from tests.docs.pages import DOCS, ROOT, STEP, all_blocks, table_rows, text_of

PAGE = text_of(DOCS / "how-to" / "django.md")
EXAMPLE = ROOT / "examples" / "django_shop"


def test_the_files_of_the_page_are_those_of_the_example() -> None:
    """The page itself is typed in by tests/docs."""
    typed = {}
    for block in all_blocks(PAGE):
        step = STEP.fullmatch(block.before)
        if step is not None and step["kind"] == "file":
            typed[step["path"]] = block.text + "\n"
    assert len(typed) == 6
    assert {path: (EXAMPLE / path).read_text("utf-8") for path in typed} == typed


def test_the_page_tells_which_tests_of_others_are_left_out() -> None:
    file = ROOT / "tests" / "django_suites" / "site" / "left_out.py"
    spec = importlib.util.spec_from_file_location("left_out", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    expected: dict[str, set[str]] = defaultdict(set)
    for name, reason in module.LEFT_OUT.items():
        expected[reason].add(f"`{name.partition('.')[2]}`")
    for name, reason in module.CLASSES_LEFT_OUT.items():
        expected[reason].add(f"all of `{name}`")
    rows = table_rows(PAGE, "Other test suites")
    assert {reason: set(names.split(", ")) for names, reason in rows} == expected
