"""`manage.py workbell …`: every command of `workbell`, for the Workbell of a task backend."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workbell.cli.main import run
from workbell.django.compat import task_backends

APP = "workbell.django.app"
VARIABLES = ("WORKBELL_APP", "WORKBELL_URL")  # of other projects; the backend has its own
TENANT = "WORKBELL_TENANT"  # set by --tenant


class Command(BaseCommand):  # type: ignore[misc]
    """Passes its arguments on. Processes that it starts find the app, and with it Django, by WORKBELL_APP."""

    help = "Runs a command of Workbell: dev, start, worker, runs, jobs, schedules, doctor and others."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--backend", default="default", help="The task backend, by its alias in TASKS.")
        parser.add_argument("args", nargs=argparse.REMAINDER, metavar="command", help="`workbell help` lists them.")

    def run_from_argv(self, argv: Sequence[str]) -> None:
        """Options of commands such as --help belong to Workbell, so Django's parser sees only what is before them."""
        own, rest = _split(argv[2:])
        options = vars(self.create_parser(argv[0], argv[1]).parse_args(own))
        program = f"{os.path.basename(argv[0])} {argv[1]}"  # noqa: PTH119
        try:
            sys.exit(self._run(rest, options["backend"], program))
        except CommandError as error:
            self.stderr.write(f"CommandError: {error}")
            sys.exit(error.returncode)

    def handle(self, *args: str, **options: Any) -> None:
        code = self._run(list(args), options["backend"], "workbell")
        if code:
            raise CommandError("the command has failed", returncode=code)

    def _run(self, args: list[str], alias: str, program: str) -> int:
        if alias not in task_backends.settings:
            known = ", ".join(task_backends.settings)
            raise CommandError(f"--backend: TASKS has no backend {alias!r}; it has {known}.")
        if not hasattr(task_backends[alias], "bells"):
            raise CommandError(
                f'TASKS[{alias!r}] is no backend of Workbell; set its BACKEND to "workbell.django.WorkbellBackend".'
            )
        before = {TENANT: os.environ.get(TENANT)} | {name: os.environ.pop(name, None) for name in VARIABLES}
        os.environ["WORKBELL_APP"] = f"{APP}:{alias}"
        try:
            return run(args or ["--help"], program)
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options of Django and of this command that stand before the command of Workbell, and that."""
    own: list[str] = []
    rest = list(argv)
    while rest and rest[0].split("=")[0] in ("--backend", "--settings", "--pythonpath"):
        with_value = rest[0].count("=") == 0
        own += rest[: 1 + with_value]
        rest = rest[1 + with_value :]
    return own, rest
