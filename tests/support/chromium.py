"""Where Chromium is; run as a program, it installs it where it may: as root, on Debian or its like."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

SHELL = "chromium-headless-shell"  # the same engine without the parts of a window: half the CPU of a test
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
COMMAND = "apt-get install --yes --no-install-recommends"
HELP = f"there is no Chromium on this machine: `{COMMAND} {SHELL}` or `… chromium`, or name one with CHROMIUM_PATH"
DEADLINE = 300


def chromium() -> str | None:
    """The browser's path: the one that CHROMIUM_PATH names, else one of the usual names."""
    named = os.environ.get("CHROMIUM_PATH")
    if named:
        return named
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def install() -> None:
    """As root on Debian or its like; elsewhere a browser has to be there."""
    if os.environ.get("CHROMIUM_PATH") or shutil.which(SHELL):
        return
    refused: list[str] = []
    if os.geteuid() == 0 and shutil.which("apt-get") is not None:
        commands = [f"{COMMAND} {SHELL}"]
        if chromium() is None:  # and older systems have no package of the shell alone
            commands += ["apt-get update", f"{COMMAND} {SHELL}", f"{COMMAND} chromium"]
        for command in commands:
            if shutil.which(SHELL) is None:
                refused += run(command)
    if chromium() is None:
        sys.exit("\n".join([*refused, f"make: {HELP}"]))


def run(command: str) -> list[str]:
    """What went wrong."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command.split(), env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"{command}: {error}"]
    return [f"{command}: exit {done.returncode}: {done.stderr.strip()[-300:]}"] if done.returncode else []


if __name__ == "__main__":
    install()
