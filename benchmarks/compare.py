"""Workbell against raw SQL on the same store and schema, in turn. `make bench` runs it.

On SQLite, and on a PostgreSQL of its own that is started here and removed again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.support.postgres import PostgresServer  # noqa: E402


def bench(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "workbell", "bench", "--raw", *arguments], check=True, env=os.environ)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", default="20000", help="runs to work off in each round")
    parser.add_argument("--rounds", default="3", help="rounds; medians are shown")
    parser.add_argument("--processes", default="1", help="worker processes")
    parser.add_argument("--json", action="store_true", help="print JSON, one document a store")
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"], help="sqlite, postgres or both")
    given = parser.parse_args()
    common = ["--runs", given.runs, "--rounds", given.rounds, "--processes", given.processes]
    common += ["--json"] if given.json else []
    if "sqlite" in given.stores:
        bench(*common)
    if "postgres" in given.stores:
        server = PostgresServer().start()
        try:
            bench(*common, "--url", server.create_database())
        finally:
            server.remove()


if __name__ == "__main__":
    main()
