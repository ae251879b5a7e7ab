"""A shell in which the commands of a page are run, one after the other, so that variables stay; and what they print."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT

PORT = "8321"  # on the pages; in a test it is another
END = "--- done ---"
PAIR = re.compile(r'"[\w.]+": ?(?:"(?:[^"\\]|\\.)*"|[^\s,{}\[\]"]+)')
SHIM = ROOT / "tests" / "docs" / "plain_curl.py"


def commands(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Each command of a block, with the lines that the page shows below it."""
    found: list[tuple[str, list[str]]] = []
    goes_on = False
    for line in lines:
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        elif goes_on:
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        else:
            found[-1][1].append(line)
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return found


def pairs(text: str) -> list[str]:
    """The fields of JSON that have a plain value, as text; so what a page leaves out, as `…`, is not asked for."""
    return [pair.replace('": ', '":') for pair in PAIR.findall(text)]


class Shell:
    """Whatever a command prints, also on stderr, is its output."""

    def __init__(self, folder: Path, environment: dict[str, str], port: int) -> None:
        self._port = str(port)
        self._shell = subprocess.Popen(
            ["sh"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        python = shlex.quote(sys.executable)
        self.run(f'workbell() {{ {python} -m workbell "$@"; }}')
        self.run(f'python() {{ {python} "$@"; }}')
        if shutil.which("curl") is None:
            self.run(f'curl() {{ {python} {shlex.quote(str(SHIM))} "$@"; }}')

    def here(self, text: str) -> str:
        """With the port that the service really has."""
        return text.replace(PORT, self._port)

    def run(self, command: str) -> str:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{self.here(command)}\necho; echo {shlex.quote(END)}\n")
        self._shell.stdin.flush()
        printed = []
        for line in self._shell.stdout:
            if line.rstrip("\n") == END:
                break
            printed.append(line)
        else:
            raise AssertionError(f"the shell ended at {command!r}: {''.join(printed)}")
        return "".join(printed).replace(self._port, PORT).strip()

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        for end in (self._shell.stdin, self._shell.stdout):
            if end is not None:
                end.close()
