"""JSON Merge Patch (RFC 7396): a document with some of its fields replaced, added or, by null, removed. Pure."""

from __future__ import annotations

from typing import Any

from workbell.model.json_text import decode, encode


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with a patch applied; both are JSON values, and neither is changed.

    The recursion is as deep as the patch, and inputs have a limit of depth.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def merge_input(job: str, template: str | None, given: str | None) -> str | None:
    """The input of a run, as JSON: what was given, merged onto the job's input template, if it has one."""
    if template is None:
        return given
    if given is None or given == "{}":
        return template
    return encode(f"job {job}: the input, merged onto its template,", merge_patch(decode(template), decode(given)))
