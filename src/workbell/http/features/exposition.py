"""The text format of Prometheus. Written here because it is a page long, and a client library would hold numbers of its
own in every process, where ours are in the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


class Sample(NamedTuple):
    labels: Labels
    value: float
    suffix: str = ""


class Family(NamedTuple):
    """Samples that share a name, a kind (counter, gauge, histogram or summary) and a sentence about them."""

    name: str
    kind: str
    about: str
    samples: Sequence[Sample]


def histogram(labels: Labels, bounds: Sequence[float], counts: Sequence[int], total: float) -> list[Sample]:
    """From how many lie between two bounds, and beyond the last, as its cumulated buckets, sum and count."""
    upto, samples = 0, []
    for bound, count in zip((*bounds, float("inf")), counts, strict=True):
        upto += count
        samples.append(Sample({**labels, "le": _number(bound)}, upto, "_bucket"))
    return [*samples, Sample(labels, total, "_sum"), Sample(labels, upto, "_count")]


def written(families: Iterable[Family]) -> str:
    lines: list[str] = []
    for family in families:
        lines.append(f"# HELP {family.name} {_escaped(family.about, quotes=False)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        lines += [f"{family.name}{one.suffix}{_labels(one.labels)} {_number(one.value)}" for one in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    listed = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{listed}}}" if listed else ""


def _escaped(text: str, *, quotes: bool = True) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
