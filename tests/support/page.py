"""Runs a file as the examples of a page: not as the main program, so that they start no worker."""

from __future__ import annotations

import runpy
import sys

if __name__ == "__main__":
    runpy.run_path(sys.argv[1], run_name="page")
