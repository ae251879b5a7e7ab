"""Steps of a Containerfile in a folder instead of an image: for machines on which no image can be built.

Folders that the image would have (`/app`, `/data`, …) lie below one folder here, and every path in a step is changed to
that. RUN steps run as the user of the tests; what USER names is used for commands if the tests run as root.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.clean_venv import ROOT, environment
from tests.support.postgres import reachable

FOLDERS = re.compile(r"(?<![\w.])/(opt/workbell|src|app|data)\b")
STRANGER = "stranger"  # not root, and not the user of the tests
DEADLINE = 500


class Step(NamedTuple):
    """An instruction: `RUN`, and the text behind it."""

    word: str
    text: str


def read_steps(text: str) -> list[Step]:
    """Instructions in their order, without comments, each on one line."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [line.strip().split(None, 1) for line in joined.splitlines() if line.strip()]
    return [Step(word.upper(), rest) for word, rest in found]


def read_command(text: str) -> list[str]:
    """The words of a command in its JSON form."""
    words: list[str] = json.loads(text[text.index("[") :])
    return words


class Built:
    """A folder in which all steps were done, and the image's settings."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="workbell-image-"))
        self.root.chmod(0o755)
        self.variables: dict[str, str] = {}
        self.user: tuple[int, int] | None = None
        self.command: list[str] = []
        self.healthcheck: list[str] = []
        self._folder = self.root
        (self.root / "bin").mkdir()
        (self.root / "bin" / "python").symlink_to(find_python())
        self._path = os.pathsep.join([str(self.root / "bin"), "/usr/local/bin", "/usr/bin", "/bin"])
        self.variables["PATH"] = self._path
        for step in steps:
            self._do(step)

    def start(self, command: Sequence[str], output: Path, **extra: str) -> subprocess.Popen[bytes]:
        """Start a command as a container would: its folder, its variables, its user."""
        user, group = self.user if os.geteuid() == 0 and self.user is not None else (None, None)
        with output.open("ab") as file:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=environment(**(self.variables | extra)),
                user=user,
                group=group,
                extra_groups=None if user is None else [],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def call(self, command: Sequence[str], **extra: str) -> tuple[int, str]:
        """Run a command to its end; exit code and what it printed."""
        with tempfile.NamedTemporaryFile(prefix="workbell-output-") as file:
            code = self.start(command, Path(file.name), **extra).wait(DEADLINE)
            return code, Path(file.name).read_text("utf-8")

    def place(self, path: str) -> Path:
        """Where a path of the image is here."""
        return Path(self._here(path))

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def _here(self, text: str) -> str:
        return FOLDERS.sub(rf"{self.root}/\1", text)

    def _do(self, step: Step) -> None:
        text = self._here(self._substituted(step.text))
        match step.word:
            case "FROM":
                self._folder = self.root
            case "WORKDIR":
                self._folder = Path(text)
                self._folder.mkdir(parents=True, exist_ok=True)
            case "COPY":
                self._copy(shlex.split(text))
            case "RUN":
                done = subprocess.run(
                    ["sh", "-c", text],
                    cwd=self._folder,
                    env=environment(**self.variables),
                    capture_output=True,
                    text=True,
                    timeout=DEADLINE,
                    check=False,
                    umask=0o022,
                )
                assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
            case "ARG" | "ENV":
                self.variables |= dict(word.split("=", 1) for word in shlex.split(text))
            case "USER":
                user, _, group = text.partition(":")
                self.user = int(user), int(group)
            case "CMD":
                self.command = read_command(text)
            case "HEALTHCHECK":
                self.healthcheck = read_command(text)
            case "VOLUME" | "EXPOSE" | "STOPSIGNAL":
                pass  # for who starts the container
            case other:
                raise AssertionError(f"{other}: no test knows this instruction")

    def _substituted(self, text: str) -> str:
        return re.sub(r"\$\{?(\w+)\}?", lambda found: self.variables[found[1]], text)

    def _copy(self, words: list[str]) -> None:
        if words[0].startswith("--from="):
            assert words[1] == words[2], "stages share the folder here, so both places must be the same"
            return
        *sources, target = words
        for source in (ROOT / name for name in sources):
            into = self._folder / target
            ignored = shutil.ignore_patterns("__pycache__", "*.db*")
            if source.is_dir():
                shutil.copytree(source, into, dirs_exist_ok=True, ignore=ignored)
            else:
                shutil.copy(source, into / source.name if into.is_dir() else into)


def find_python() -> str:
    """An interpreter that every user can reach: that of the tests, else the system's."""
    own = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (own, Path("/usr/local/bin/python3"), Path("/usr/bin/python3")):
        if path.exists() and reachable(path, STRANGER) and _is_new_enough(path):
            return str(path)
    raise AssertionError(f"{own}: other users cannot reach it, and the system has no Python 3.11 with venv beside it")


def _is_new_enough(path: Path) -> bool:
    question = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([path, "-c", question], env=environment(), capture_output=True, check=False).returncode == 0
