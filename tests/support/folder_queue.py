"""A queue of a third party, to be installed as a package: messages are files in a folder, `folder://PATH`.

Whoever moves a file into its own folder has the permit. A file `broken` beside them makes every call fail, one `deaf`
loses what is sent.
"""

FOLDER_QUEUE = """
import os
import threading
import time
from pathlib import Path
from urllib.parse import quote, unquote
from uuid import uuid4

from workbell.queues.message import decode, encode
from workbell.queues.port import Permit

PACE = 0.005


class FolderQueue:
    def __init__(self, folder):
        self.folder = folder
        self._interrupted = threading.Event()

    def send(self, sent):
        self._check()
        if (self.folder / "deaf").exists():
            return
        for run, queue in sent:
            self._put(f"0@{quote(queue, safe='')}@{time.time_ns()}-{uuid4().hex}", encode(run))

    def receive(self, most, wait, queues):
        end = time.monotonic() + wait
        while not self._interrupted.wait(PACE):
            self._check()
            found = self._take(most, queues)
            if found or time.monotonic() >= end:
                return found
        self._interrupted.clear()
        return []

    def ack(self, receipts):
        for receipt in receipts:
            (self.folder / "taken" / receipt).unlink(missing_ok=True)

    def give_back(self, receipts, delay):
        for receipt in receipts:
            _, queue, number = receipt.split("@")
            after = time.time_ns() + int(delay * 1e9)
            os.rename(self.folder / "taken" / receipt, self.folder / f"{after}@{queue}@{number}")

    def interrupt(self):
        self._interrupted.set()

    def close(self):
        pass

    def _check(self):
        (self.folder / "taken").mkdir(parents=True, exist_ok=True)
        if (self.folder / "broken").exists():
            raise ConnectionError("no way to folder://me:secret@host")

    def _put(self, name, text):
        beside = self.folder / "taken" / f"new-{uuid4().hex}"
        beside.write_text(text, "utf-8")
        os.rename(beside, self.folder / name)

    def _take(self, most, queues):
        found = []
        for name in sorted(name for name in os.listdir(self.folder) if "@" in name):
            after, queue, _ = name.split("@")
            if len(found) == most or int(after) > time.time_ns():
                break
            if queues is not None and unquote(queue) not in queues:
                continue
            try:
                os.rename(self.folder / name, self.folder / "taken" / name)
            except FileNotFoundError:
                continue
            found.append(Permit(decode((self.folder / "taken" / name).read_bytes()), name))
        return found


def open_url(url, *, store):
    return FolderQueue(Path(url.removeprefix("folder://")))
"""
