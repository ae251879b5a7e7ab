"""Filter of runs from a query string, as the options of `bell.runs`."""

from __future__ import annotations

from typing import Any

from workbell.http.framework.call import ApiCall
from workbell.model.payload_fields import value_from
from workbell.wire.run_filter import FIELD, RunFilter, filter_words


def asked_filter(call: ApiCall, query: RunFilter) -> dict[str, Any]:
    """Options of `bell.runs`, with the fields of the input that the query names."""
    found = filter_words(query)
    if call.request.scope["query_string"]:
        fields = {
            name.removeprefix(FIELD): value_from(text)
            for name, text in call.request.query_params.multi_items()
            if name.startswith(FIELD) and len(name) > len(FIELD)
        }
        if fields:
            found["input"] = fields
    return found
