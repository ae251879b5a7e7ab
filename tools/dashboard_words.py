"""Generator of the dashboard's static/components/run-words.js: the words of a filter of runs."""

from __future__ import annotations

import json
from pathlib import Path

from workbell.model.run_filter import WORDS

FILE = Path(__file__).parent.parent / "src/workbell/http/dashboard/static/components/run-words.js"
HEAD = """// Words of the filter of runs, generated from src/workbell/model/run_filter.py by tools/dashboard_words.py.
// Do not edit them: run `make generate`.

/** In the order of their fields; a word whose label is null has none. */
"""


def module() -> str:
    """The text of the module. The types of the constants say which names go with which kind."""
    lines = (
        f"  {{ name: {json.dumps(name)}, kind: {json.dumps(word.kind)}, label: {json.dumps(word.label)} }},\n"
        for name, word in WORDS.items()
    )
    return f"{HEAD}export const WORDS = /** @type {{const}} */ ([\n{''.join(lines)}]);\n"
