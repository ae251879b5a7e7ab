"""Compiling the tests, shared among the test processes: each imports another part first, and finds the rest compiled.

Pytest rewrites and compiles a test file where its bytecode is not there, as in a fresh checkout: 6 s of CPU, which
every process would spend, since all collect the same files in the same order at the same time.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parents[1]


def import_share(number: int, processes: int, left_out: list[str]) -> None:
    """`left_out`: names of folders that are not collected."""
    for file in sorted(TESTS.rglob("test_*.py"))[number::processes]:
        name = file.relative_to(TESTS.parent).with_suffix("").parts
        folders = [TESTS.parent.joinpath(*name[:length]) for length in range(1, len(name))]
        if not {*name}.intersection(left_out) and all((folder / "__init__.py").exists() for folder in folders):
            # (a file in a folder without __init__.py has no name before pytest's turn)
            with suppress(Exception):  # pytest will come to it, and report it
                import_module(".".join(name))
