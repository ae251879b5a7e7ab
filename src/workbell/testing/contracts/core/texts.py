"""Contract of hostile texts: quotes, backslashes, tabs, line ends, braces, emoji, the word NULL, length."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from workbell.model import state
from workbell.model.job import Job
from workbell.stores.port import CoreStore, Filter
from workbell.testing.contracts.core.reading import job
from workbell.testing.contracts.making import KEEP, add, after, claim, find, held, request

NASTY = {
    "quotes": "O'Reilly said \"no\" `twice` ''",
    "backslashes": "C:\\new\\table\\N \\\\ \\. \\x41 \\",
    "white": "\ttab\nline\r\nreturn\r \v \f end ",
    "array": '{a,"b",NULL} {} ,',
    "null": "NULL",
    "copy-null": "\\N",
    "copy-end": "\\.\n\\.",
    "percent": "100 % %s %(name)s :name $1 ? -- /* */ ;",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 \u202e \ufeff \U0010ffff",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x85\u2028\u2029",
    "json": '{"a":[1,null,"\\u0000","\\ud83d\\ude00"]}',
    "empty": "",
    "blank": " ",
    "long": "ünïcödé \\ \" ' \t" * 13_000,
}
nasty = pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())


class TextsContract:
    @nasty
    def test_a_new_run_keeps_its_texts(self, store: CoreStore, text: str) -> None:
        name = text[:100]
        fields: dict[str, Any] = {
            "input_text": text,
            "options_text": text,
            "tag": name,
            "key": name,
            "accepted_by": name,
        }
        new = request(name, queue=name, tenant=name, target=name, **fields)
        assert add(store, new) == [new.run]
        assert store.runs.list(Filter(name, job=name, queue=name, tag=name)) == [new.run]
        assert [answer.created for answer in store.runs.add([request(key=name, tenant=name)])] == [False]

    @nasty
    def test_runs_made_in_bulk_keep_their_texts(self, store: CoreStore, text: str) -> None:
        """A bulk insert has rules of its own for what must be escaped."""
        name = text[:100]
        fields: dict[str, Any] = {"input_text": text, "options_text": text, "tag": name, "accepted_by": name}
        batch = [request(**fields), request(), request(**fields, delay=5), request(tag="x")]
        store.runs.add(batch)
        assert store.runs.find([new.run.id for new in batch]) == {new.run.id: new.run for new in batch}

    @nasty
    def test_what_a_handler_leaves_behind_is_kept(self, store: CoreStore, text: str) -> None:
        """C5, C7: results, errors, reasons and progress, alone and in a batch with others."""
        store.runs.add([request(), request(at=1), request(at=2), request(at=3), request(at=4)])
        done, failed, retried, snoozed, ended = claim(store, at=5, worker=text[:1000])
        assert store.runs.set_progress(held(done), text)
        changes = [
            state.succeed(done, after(6), result=text, keep=KEEP.succeeded),
            state.fail(failed, after(6), error=text, reason=text, keep=KEEP.other),
            state.retry(retried, after(6), error=text, reason=text, wait=KEEP.other),
            state.snooze(snoozed, after(6), wait=KEEP.other, reason=text),
            state.cancel(ended, after(6), reason=text, keep=KEEP.other),
        ]
        assert len(store.runs.apply(changes)) == 5
        for change, run in zip(changes, (done, failed, retried, snoozed, ended), strict=True):
            progress = text if run is done else None
            assert find(store, run) == msgspec.structs.replace(change.after(run), progress_text=progress)
        (attempt,) = store.runs.attempts(retried.id)
        assert (attempt.error, attempt.worker) == (text, text[:1000])

    @nasty
    def test_jobs_keep_their_texts(self, store: CoreStore, text: str) -> None:
        template = msgspec.json.encode({"text": text}).decode()
        wanted: Job = job(text[:100], queue=text[:100], handler=text, description=text, input_text=template)
        store.jobs.put([wanted])
        assert store.jobs.find("default", wanted.name) == wanted
