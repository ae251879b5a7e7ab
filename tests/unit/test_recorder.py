"""The recorder of the fault tests reads what killed processes have left."""

from __future__ import annotations

from pathlib import Path

from tests.support.recorder import Recorder, read, read_from


def test_what_follows_a_torn_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "events"
    recorder = Recorder(path)
    recorder.note("first", runs=["a"])
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:-8])  # killed in the middle of a write
    recorder.note("second", runs=["b"])
    recorder.close()
    assert [event["kind"] for event in read(path)] == ["first", "second"]
    assert [event["kind"] for event in read_from(path, len(whole))[0]] == ["second"]
