"""Where Chromium is; run as a program, it installs it where it may: as root, on Debian or its like."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
COMMAND = "apt-get install --yes --no-install-recommends chromium"
HELP = f"there is no Chromium on this machine: `{COMMAND}`, or name one with CHROMIUM_PATH"
DEADLINE = 300


def chromium() -> str | None:
    """The browser's path: the one that CHROMIUM_PATH names, else one of the usual names."""
    named = os.environ.get("CHROMIUM_PATH")
    if named:
        return named
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def install() -> None:
    """As far as it goes: without a browser its tests are reported as skipped, and all others run."""
    if chromium() is not None:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(f"browser tests will be skipped: {HELP}", file=sys.stderr)
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (COMMAND, "apt-get update", COMMAND):
        try:
            done = subprocess.run(
                command.split(), env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"{command}: {error}", file=sys.stderr)
            return
        if chromium() is not None:
            return
        print(f"{command}: exit {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)


if __name__ == "__main__":
    install()
