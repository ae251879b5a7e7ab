"""Format time spans for people."""

from __future__ import annotations

from datetime import timedelta


def span(time: timedelta) -> str:
    """`0 s`, `0.4 ms`, `12 ms`, `3.4 s`, `5 min`, `2 h`, `3 d`."""
    seconds = max(time.total_seconds(), 0.0)
    if seconds < 0.0001:
        return "<0.1 ms" if seconds else "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.0095 else f"{seconds * 1000:.1f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 172_800:
        return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
    return f"{seconds / 86_400:.0f} d"
