"""Breaks the code on purpose, one small mutation at a time in a copy of the checkout, and tells which tests notice.

    python tools/mutants.py                    every mutation of the table below (`make mutants`)
    python tools/mutants.py E1 X4              some of them; --all applies them together, as one mutant
    python tools/mutants.py --sample 15 --area engine --seed 7     sites drawn from the syntax tree of an area

A mutation that no test notices is a test that is missing, or a line that is not needed. The table holds mutations that
once went unnoticed, each with the tests that notice it now; a mutation whose text is not in its file exactly once is
refused. The exit code is 1 if one survives that is not known to be equivalent.

The tests of a drawn mutation run in two stages: the files that name its module most often, and the rest of its area if
those notice nothing. SIGINT (Ctrl-C), SIGTERM and SIGHUP end the tests, and the copy is removed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCES = "src/workbell/"
DEADLINE = 900  # seconds for the tests of one mutant
GRACE = 20  # seconds that tests have to end what they have started
FIRST = 5  # files of tests in the first stage of a drawn mutation
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KILLED, SURVIVED, NO_VERDICT = "killed", "survived", "no verdict"
TESTS_FAILED = (1, 2)  # the latter where pytest-xdist stops at the first failure
NOTHING_RAN = 4


class Mutation(NamedTuple):
    """One edit of a file below src/workbell, and the tests that are to notice it."""

    name: str
    file: str
    old: str
    new: str
    tests: str  # pytest's arguments
    breaks: str
    equivalent: str = ""  # why no test can notice it
    rest: str = ""  # of the tests, which run if those before have not noticed it


class Area(NamedTuple):
    folders: tuple[str, ...]  # below src/workbell
    tests: tuple[str, ...]


AREAS: Mapping[str, Area] = {
    "engine": Area(
        ("engine", "claims"),
        ("tests/engine", "tests/unit/engine", "tests/unit/claims", "tests/contracts/test_claims.py"),
    ),
    "queues": Area(
        ("queues",),
        (
            "tests/unit/queues",
            "tests/engine/test_queues.py",
            "tests/contracts/test_queues.py",
            "tests/redis/test_redis_queue.py",  # its faults take ten minutes
            "tests/redis/test_service.py",
        ),
    ),
    "django": Area(("django",), ("tests/django",)),
    "remote": Area(("remote",), ("tests/unit/remote", "tests/remote")),
}

TABLE: tuple[Mutation, ...] = (
    Mutation(
        "E1",
        "engine/consume.py",
        "        lane.target is None\n        and (queues is None",
        "        (queues is None",
        "tests/unit/engine/test_consume.py tests/engine/test_one_shot.py::TestConsume tests/contracts/test_claims.py "
        "tests/engine/test_running.py::test_runs_for_an_agent_are_left_to_it",
        "ordinary workers execute runs that are meant for an agent on another machine",
    ),
    Mutation(
        "E11",
        "engine/renew.py",
        "if not renewed.locked:",
        "if True:",
        "tests/engine/test_recover.py::TestRenew",
        "a lease whose row is locked counts as renewed, and ctx.db commits for a run that another worker has",
    ),
    Mutation(
        "H2",
        "http/policies/idempotency.py",
        "        call.access.actor.encode(),\n",
        "",
        "tests/http/test_access.py",
        "with the key and body of another caller one gets that caller's stored answer, and nothing is done",
    ),
    Mutation(
        "X4",
        "http/service.py",
        "if settings.http_rate else None",
        "if False else None",
        "tests/http/test_access.py",
        "the setting http_rate does nothing",
    ),
    Mutation(
        "Y1",
        "http/policies/rate_limits.py",
        "left, at = self._levels.get(name, (self._burst, now))",
        'name = ""\n        left, at = self._levels.get(name, (self._burst, now))',
        "tests/unit/http/test_rate_limits.py",
        "one caller uses up the rate of all others",
    ),
    Mutation(
        "Q6",
        "stores/runs/shared.sql",
        "workbell_pauses p WHERE l.id = q.lane\n    AND p.tenant = l.tenant AND p.queue",
        "workbell_pauses p WHERE l.id = q.lane\n    AND p.queue",
        "tests/contracts/test_stores.py::TestParts::test_a_pause_of_one_tenant_leaves_chosen_runs_of_another_alone",
        "the pause of one tenant stops chosen runs of another",
    ),
    Mutation(
        "D3",
        "scheduling/decide.py",
        "if first is not None and last is not None and first <= last:",
        "if first is not None and last is not None and first < last:",
        "tests/unit/scheduling/test_decide.py::TestPending",
        "the only pending tick is missing in the ledger when its schedule is paused",
    ),
    Mutation(
        "P2",
        "remote/plans/access.py",
        "    return (yield call_of(tokens.revoke, token_id, query=_whose(tenant))).value()",
        "    return (yield call_of(tokens.revoke, token_id, query={})).value()",
        "tests/remote/test_arguments.py",
        "a token of another tenant cannot be revoked through a service",
    ),
    Mutation(
        "P3",
        "remote/plans/runs.py",
        "        except (ServiceUnavailable, StoreUnavailable):\n            if not begun:\n                raise\n",
        "        except (ServiceUnavailable, StoreUnavailable):\n",
        "tests/remote/test_network.py::test_nobody_listens",
        "client.wait at an address where no service is waits for ever",
    ),
    Mutation(
        "P4",
        "remote/problems.py",
        "if 300 <= reply.status < 400:",
        "if 300 <= reply.status < 401:",
        "tests/unit/remote/test_tries.py",
        "a page of a proxy with status 400 is called a redirect",
    ),
    Mutation(
        "U1",
        "queues/guarded.py",
        "except Exception as error:",
        "except OSError as error:",
        "tests/engine/test_queues.py::TestGuardedQueue",
        "an error of a queue's library reaches the caller of enqueue, after its run was stored",
    ),
    Mutation(
        "E7",
        "engine/finish.py",
        "            self._store.wake()  # another worker may be waiting for a run of a limited job to end\n",
        "",
        "tests/engine/test_finish.py",
        "another worker finds the free place of a limit by its next poll only",
    ),
    Mutation(
        "L1",
        "stores/limits/limits.py",
        "lease_until=terms.lease_until + (now - terms.now)",
        "lease_until=terms.lease_until",
        "tests/contracts/test_stores.py::TestCore::test_a_lease_is_as_long_as_ever_however_late_it_begins",
        "a claim that has waited for a limit gets a shorter lease",
    ),
    Mutation(
        "R3",
        "stores/runs/moving.py",
        "status = word if at >= last else status",
        "status = word",
        "tests/contracts/test_stores.py::TestCore::test_the_latest_end_counts",
        "last_run_status of a schedule shows the earlier of two ends of one batch",
    ),
    Mutation(
        "E10",
        "engine/dispatch.py",
        "Batch(len(moved), len(moved) >= limit)",
        "Batch(len(moved), False)",
        "tests/engine/test_dispatch.py",
        "a round of `dispatch` ends after one batch",
    ),
    Mutation(
        "E15",
        "engine/clean_history.py",
        "            if now < due:\n                self._next_check_at = due\n",
        "            if now < due:\n",
        "tests/engine/test_clean_history.py",
        "clean-history asks the store each minute instead of when it is due",
    ),
    Mutation(
        "E15b",
        "engine/clean_history.py",
        "        self._next_check_at = self._run.created_at + self._every\n",
        "        self._next_check_at = self._run.created_at\n",
        "tests/engine/test_clean_history.py",
        "clean-history reads the store once more after each of its runs",
        equivalent="the next step finds out the same time from the store, and waits as long",
    ),
    Mutation(
        "E16",
        "engine/recover.py",
        "max(next_at, self._read_at) - moment)",
        "next_at - moment)",
        "tests/engine/test_recover.py",
        "the sweep wakes while leases may not be read, for nothing",
    ),
    Mutation(
        "X3",
        "engine/scheduler_half.py",
        "settings.clean_every,",
        "3600.0,",
        "tests/integration/test_settings.py::test_every_setting_does_something[clean_every]",
        "the setting clean_every does nothing",
    ),
    Mutation(
        "X5",
        "engine/housekeeping.py",
        "settings.sweep_pace,",
        "5.0,",
        "tests/integration/test_settings.py::test_every_setting_does_something[sweep]",
        "the setting sweep does nothing",
    ),
    Mutation(
        "X7",
        "http/framework/middleware.py",
        "service.settings.http_body_limit",
        "8 * 1024 * 1024",
        "tests/integration/test_settings.py::test_every_setting_does_something[http_body_limit]",
        "the setting http_body_limit does nothing",
    ),
    Mutation(
        "X8",
        "flask.py",
        "open_store(url, settings.keep, settings.connections)",
        "open_store(url)",
        "tests/integration/test_flask.py",
        "keep_* and connections do nothing in a Flask application",
    ),
    Mutation(
        "X9",
        "django/bells.py",
        "SqlStore(DjangoDatabase(self.key.database), settings.keep)",
        "SqlStore(DjangoDatabase(self.key.database), Settings().keep)",
        "tests/django/test_bells.py",
        "keep_* do nothing for what Django's own connection ends",
    ),
    Mutation(
        "C2",
        "claims/claiming.py",
        "if used_up or len(taken) < limit",
        "if len(taken) < limit",
        "tests/contracts/test_claims.py::TestFairClaims::test_a_used_up_limit_is_read_again",
        "after the last place of a limit a less urgent lane is served first",
    ),
    Mutation(
        "C4",
        "claims/fairness.py",
        "self._after = tenants[-1]\n",
        "self._after = self._after\n",
        "tests/contracts/test_claims.py::TestPausesAndTenants::test_samples_of_many_tenants_go_round",
        "beyond 50 tenants some are hardly ever seen",
    ),
    Mutation(
        "J1",
        "django/connections.py",
        "        if not connection.in_atomic_block:\n",
        "        if True:\n",
        "tests/django/test_transactions.py",
        "a run that is executed inside a test's transaction ends it",
    ),
    Mutation(
        "J2",
        "django/database.py",
        "        try:\n            answers = [_answer(apart, statement) for statement in batch]\n        finally:\n"
        "            apart.close()\n",
        "        answers = [_answer(apart, statement) for statement in batch]\n",
        "tests/django/test_connection_settings.py",
        "each new lane leaves a connection to PostgreSQL open",
    ),
    Mutation(
        "J3",
        "django/admin.py",
        "return scope_of(request.user) is not None",
        "return True",
        "tests/django/test_admin.py",
        "staff without a permission opens pages of the admin about runs",
    ),
    Mutation(
        "J4",
        "django/app.py",
        "    if not isinstance(backend, WorkbellBackend):",
        "    if False:",
        "tests/django/test_bells.py::test_the_app_of_a_backend_is_named_by_its_alias",
        "an app that is a backend of others has no sentence about it",
    ),
    Mutation(
        "W2",
        "webhooks/describe.py",
        "return all(text.startswith(SEALED)",
        "return any(text.startswith(SEALED)",
        "tests/unit/webhooks/test_endpoints.py",
        "an endpoint with one part in clear text is called sealed",
    ),
    Mutation(
        "Q10",
        "stores/limits/shared.sql",
        "    WHERE q.status = 'queued' AND q.lane = pick.lane AND q.rank = pick.rank\n"
        "    AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0) LIMIT",
        "    WHERE q.status = 'queued' AND q.lane = pick.lane AND q.rank = pick.rank LIMIT",
        "tests/contracts/test_stores.py::TestCore::test_expired_runs_take_no_room",
        "expired runs take the room of a limit for one claim",
    ),
    Mutation(
        "R2",
        "stores/runs/moving.py",
        "        if not dialect.one_writer:  # else",
        "        if False:  # else",
        "tests/faults/test_batch_races.py",
        "a run follows in a chain although its cancel was asked for meanwhile (PostgreSQL)",
    ),
    Mutation(
        "R4",
        "stores/runs/head_bounds.py",
        "self._raise(key, now - SLACK)",
        "self._raise(key, now)",
        "tests/plans/test_dead_heads.py",
        "a run that was queued a moment before an empty survey, and committed after it, waits for the next look",
    ),
    Mutation(
        "R6",
        "stores/runs/lanes.py",
        "return written is not None and self._database.clock.monotonic() - written < TRUSTED_SECONDS",
        "return written is not None",
        "tests/unit/stores/test_new_lanes.py",
        "a run is added to a lane that another process has removed",
    ),
    Mutation(
        "E5",
        "engine/consume_round.py",
        "            unsubscribe()\n",
        "",
        "tests/engine/test_one_shot.py::TestConsume::test_nothing_of_it_stays",
        "each round of `consume` stays in memory, and hears of every run",
    ),
    Mutation(
        "E14",
        "engine/held_runs.py",
        "        return self.by_id.get(work.run.id) is work\n",
        "        return work.run.id in self.by_id\n",
        "tests/unit/engine/test_consume.py",
        "a run that came back under another lease is taken for the one before",
    ),
    Mutation(
        "E17",
        "engine/worker_half.py",
        "            self._queue.interrupt()\n",
        "",
        "tests/engine/test_queues.py::TestPermits::test_a_stop_waits_for_no_message",
        "a worker beside a queue takes 20 s to stop, and a message from the others",
    ),
    Mutation(
        "E18",
        "engine/executors.py",
        "        for task in list(self._slots):\n            task.cancel()\n",
        "        list(self._slots)\n",
        "tests/engine/test_running.py::test_a_stop_leaves_no_task_behind",
        "each stop leaves tasks on the loop of the application",
    ),
    Mutation(
        "E19",
        "engine/executors.py",
        "(task is not None and task.cancelling())",
        "(task is not None or task.cancelling())",
        "tests/engine/test_running.py",
        "each run makes a new task for its slot",
        equivalent="a fresh slot is as good as the one before; it costs time alone",
    ),
    Mutation(
        "C5",
        "claims/claiming.py",
        "abs(now - self._surveyed_at) > self._fresh",
        "abs(now - self._surveyed_at) >= self._fresh",
        "tests/unit/claims",
        "a survey of exactly half a second ago is made again",
        equivalent="one survey more, at one instant",
    ),
    Mutation(
        "C6",
        "claims/lane_choice.py",
        "        if len(lanes) == 1:  #",
        "        if False:  #",
        "tests/unit/claims/test_lane_choice.py",
        "a claim from one lane takes the long way",
        equivalent="the long way comes to the same, 5 µs later",
    ),
    Mutation(
        "T4",
        "timing/calendar_walk.py",
        "if year > 9999:",
        "if year >= 9999:",
        "tests/unit/timing/test_bounds.py",
        "the calendar ends a year early for zones ahead of UTC",
    ),
    Mutation(
        "U2",
        "queues/cloudflare.py",
        "seconds = min(math.ceil(delay), LONGEST_DELAY)",
        "seconds = math.ceil(delay)",
        "tests/unit/queues/test_cloudflare.py",
        "Cloudflare refuses to take a message back whose delay is too long",
    ),
    Mutation(
        "U3",
        "queues/redis.py",
        "in sent[-LONGEST:]:",
        "in sent:",
        "tests/redis",
        "more messages than a Redis list keeps are sent",
        equivalent="LTRIM in the same pipeline leaves the same list; the cut saves bytes on the wire",
    ),
    Mutation(
        "U4",
        "queues/cloudflare.py",
        "for start in range(0, len(every), BATCH)",
        "for start in range(-1, len(every), BATCH)",
        "tests/unit/queues/test_cloudflare.py",
        "of several messages to Cloudflare one is sent, in a call for nothing",
    ),
    Mutation(
        "U5",
        "queues/cloudflare.py",
        "AT_ONCE = 4 ",
        "AT_ONCE = 5 ",
        "tests/unit/queues/test_cloudflare.py",
        "more is sent to Cloudflare in a second than it takes",
    ),
    Mutation(
        "U6",
        "queues/cloudflare.py",
        "for page in range(1, PAGES + 1):",
        "for page in range(0, PAGES + 1):",
        "tests/unit/queues/test_cloudflare.py",
        "Cloudflare is asked for a page of queues that there is not",
    ),
    Mutation(
        "U7",
        "queues/cloudflare.py",
        "if 400 <= status < 500",
        "if 401 <= status < 500",
        "tests/unit/queues/test_cloudflare.py",
        "a call that Cloudflare refuses is said to be tried again",
    ),
    Mutation(
        "U8",
        "queues/cloudflare.py",
        "PAGES = 100 ",
        "PAGES = 50 ",
        "tests/unit/queues/test_cloudflare.py",
        "beyond 5,000 queues of an account a queue is not found by its name",
    ),
    Mutation(
        "U9",
        "queues/guarded.py",
        "        self._interrupted.set()\n",
        "",
        "tests/engine/test_queues.py::TestGuardedQueue",
        "a worker takes a second longer to stop while its queue is away",
    ),
    Mutation(
        "U10",
        "queues/guarded.py",
        "        if now < self._silent_until",
        "        if now <= self._silent_until",
        "tests/engine/test_queues.py::TestGuardedQueue",
        "at one instant a warning is left out",
        equivalent="no two errors of a verb are exactly a minute apart, by a clock of nanoseconds",
    ),
    Mutation(
        "U11",
        "queues/redis.py",
        "AT_ONCE = 10_000 ",
        "AT_ONCE = 9_999 ",
        "tests/redis/test_redis_queue.py",
        "messages are cut into commands elsewhere",
        equivalent="the list has the same messages in the same order",
    ),
    Mutation(
        "U12",
        "queues/redis.py",
        "        self._names_at = 0.0\n",
        "        self._names_at = 1.0\n",
        "tests/redis/test_redis_queue.py",
        "names of queues are read a second later",
        equivalent="the clock counts from the start of the machine: both are long ago",
    ),
    Mutation(
        "B2",
        "runs/booking.py",
        "        self._unsure.difference_update([_write_key(change) for _, change in pairs])\n",
        "",
        "tests/engine/test_finish.py",
        "a slow leak after lost connections, and one read more for each booking",
    ),
)


# One mutant


class Checkout:
    """A copy of the files of this checkout, in which one mutant at a time is tested."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target)

    def test(
        self, mutations: Sequence[Mutation], stages: Sequence[Sequence[str]], more: Sequence[str]
    ) -> tuple[str, str]:
        """Apply mutations, run tests until a stage of them notices, and put the files back: the verdict, and the test
        that noticed."""
        verdict, said = NO_VERDICT, ["no tests"]
        with self._applied(mutations):
            for tests in stages:
                verdict, said = self._run([*tests, *more])
                if verdict != SURVIVED:
                    break
        if verdict == KILLED and self._run([said[0], *more])[0] != SURVIVED:
            return NO_VERDICT, f"{said[0]} fails without the mutation too"
        return verdict, said[0]

    def test_together(self, mutations: Sequence[Mutation], more: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Apply mutations at once, and run all of their tests: for each its verdict, and the first that noticed."""
        tests = dict.fromkeys(test for mutation in mutations for test in mutation.tests.split())
        with self._applied(mutations):
            verdict, failed = self._run([*tests, *more, "--maxfail=0"], DEADLINE * 4)
        if verdict != KILLED:
            return {mutation.name: (verdict, failed[0]) for mutation in mutations}
        noticed = {mutation.name: _first_of(failed, mutation.tests.split()) for mutation in mutations}
        again = dict.fromkeys(test for test in noticed.values() if test)
        verdict, failed = self._run([*again, *more, "--maxfail=0"], DEADLINE * 4)
        found = {}
        for name, test in noticed.items():
            if test is None:
                found[name] = SURVIVED, "among the others"
            elif verdict == SURVIVED or (verdict == KILLED and test not in failed):
                found[name] = KILLED, test
            else:
                found[name] = NO_VERDICT, f"{test} fails without the mutations too"
        return found

    @contextlib.contextmanager
    def _applied(self, mutations: Sequence[Mutation]) -> Iterator[None]:
        before = {mutation.file: self._path(mutation).read_text() for mutation in mutations}
        try:
            for mutation in mutations:
                self._write(mutation, mutated(self._path(mutation).read_text(), mutation))
            yield
        finally:
            for mutation in mutations:
                self._write(mutation, before[mutation.file])

    def _path(self, mutation: Mutation) -> Path:
        return self.folder / SOURCES / mutation.file

    def _write(self, mutation: Mutation, text: str) -> None:
        path = self._path(mutation)
        path.write_text(text)
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):  # of the same size and second, perhaps
            compiled.unlink()

    def _run(self, arguments: Sequence[str], deadline: float = DEADLINE) -> tuple[str, list[str]]:
        """Run tests: the verdict, and those that failed, or else one line about it."""
        environment = os.environ | {"PYTHONPATH": f"{self.folder}/src", "PYTHONDONTWRITEBYTECODE": ""}
        command = [sys.executable, "-m", "pytest", "-x", "-rfE", "--no-header", "--tb=no", *arguments]
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until it is certain that the tests are ended
        tests = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_hear_signals,
        )
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
            said, _ = tests.communicate(timeout=deadline)
        except subprocess.TimeoutExpired:
            return NO_VERDICT, [f"not over after {deadline} s"]
        finally:
            _end(tests)
        lines = said.splitlines()
        if tests.returncode == 0:
            return SURVIVED, lines[-1:] or [""]
        noticed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        if tests.returncode in TESTS_FAILED and noticed:
            return KILLED, [line.partition(" ")[2].partition(" - ")[0] for line in noticed]
        if tests.returncode == NOTHING_RAN and any("while loading conftest" in line for line in lines):
            return KILLED, [arguments[0]]  # no test of that folder can run
        return NO_VERDICT, ["; ".join(lines[-3:])]


def _first_of(failed: Sequence[str], tests: Sequence[str]) -> str | None:
    """The first of the tests that failed which these arguments of pytest name."""
    starts = tuple(f"{test}{mark}" for test in tests for mark in ("::", "/", "["))
    return next((one for one in failed if one in tests or one.startswith(starts)), None)


def _hear_signals() -> None:
    """In the process of the tests, before they begin. A shell has what it starts in the background ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def _end(tests: subprocess.Popen[str]) -> None:
    """End tests that are still running: SIGINT, upon which pytest ends what they have started, and SIGKILL for what is
    left in their group after the grace."""
    if tests.returncode is not None:
        return
    tests.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        tests.communicate(timeout=GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(tests.pid, signal.SIGKILL)
    tests.communicate()


def mutated(text: str, mutation: Mutation) -> str:
    """The text of a file with a mutation; raises if it does not have the old text exactly once."""
    found = text.count(mutation.old)
    if found != 1:
        raise SystemExit(
            f"mutants: {mutation.name}: {mutation.file} has the text {found} times, not once; correct the table in "
            f"tools/mutants.py:\n{mutation.old}"
        )
    return text.replace(mutation.old, mutation.new)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


# Sampled mutations


COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
OUTWARD = ("log", "logging", "warnings")  # calls that only tell people something are not removed


class Site(NamedTuple):
    """A place in a file: characters from `start` to `end` become `new`."""

    start: int
    end: int
    new: str
    what: str


def sites(text: str) -> Iterator[Site]:
    """Every mutation that can be drawn in a file, in the order of the syntax tree."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def place(line: int, column: int) -> int:  # columns count bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def site(node: ast.expr | ast.stmt, new: str, what: str) -> Site:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return Site(place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset), new, what)

    tree = ast.parse(text)
    answers = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_bool(node.returns)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Return)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                new = f"{ast.unparse(left)} {COMPARED[type(op)]} {ast.unparse(right)}"
                yield site(node, f"({new})", "comparison flipped")
            case ast.If(test=test, orelse=[]) if isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue):
                yield site(test, "False", "guard dropped")
            case ast.BoolOp(op=op, values=values):
                other = " or " if isinstance(op, ast.And) else " and "
                yield site(node, f"({other.join(f'({ast.unparse(one)})' for one in values)})", "and/or swapped")
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                yield site(node, repr(value + 1), "constant + 1")
                yield site(node, f"({value - 1!r})", "constant - 1")
            case ast.Expr(value=ast.Call(func=called)) if not ast.unparse(called).startswith(OUTWARD):
                yield site(node, "None", "call removed")
            case ast.Return(value=ast.expr() as value) if id(node) in answers:
                yield site(value, f"(not ({ast.unparse(value)}))", "return value negated")


def _is_bool(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id == "bool"


def sample(area: Area, number: int, seed: int) -> list[Mutation]:
    """Mutations of an area, drawn by a seed."""
    files = sorted(path for folder in area.folders for path in (ROOT / SOURCES / folder).rglob("*.py"))
    every = [(path, site) for path in files for site in sites(path.read_text())]
    drawn = random.Random(seed).sample(every, min(number, len(every)))
    return [_of_site(path, site, area, f"S{index + 1}") for index, (path, site) in enumerate(drawn)]


def _of_site(path: Path, site: Site, area: Area, name: str) -> Mutation:
    text = path.read_text()
    line = text.count("\n", 0, site.start) + 1
    new = text[: site.start] + site.new + text[site.end :]
    shown = f"line {line}, {site.what}: {text[site.start : site.end]} -> {site.new}"
    tests = nearest(path, area.tests)
    return Mutation(
        name,
        str(path.relative_to(ROOT / SOURCES)),
        text,
        new,
        " ".join(tests[:FIRST]),
        " ".join(shown.split()),
        rest=" ".join(tests[FIRST:]),
    )


def nearest(path: Path, folders: Sequence[str]) -> list[str]:
    """Files of tests, those first that name the module or what it defines most often: a mutant dies sooner."""
    defined = [
        node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    words = [path.stem, *(name for name in defined if not name.startswith("_"))]
    files = [file for folder in folders for file in _test_files(ROOT / folder)]
    texts = {file: file.read_text() for file in files}
    named = {
        file: sum(text.count(word) for word in words) + 9 * (path.stem in file.stem) for file, text in texts.items()
    }
    return [str(file.relative_to(ROOT)) for file in sorted(files, key=lambda file: (-named[file], file))]


def _test_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("test_*.py"))


# The command


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="mutants", description="Mutations of the code, and the tests that notice them."
    )
    parser.add_argument("names", nargs="*", help="of the table; none: all that are not known to be equivalent")
    parser.add_argument(
        "--all", action="store_true", help="apply them together, as one mutant, and run all their tests"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="draw N mutations of an area instead")
    parser.add_argument("--area", choices=AREAS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the mutations, and run nothing")
    parser.add_argument("--pytest", default="", metavar="ARGUMENTS", help="more arguments for pytest")
    given = parser.parse_args(arguments)
    if (given.sample is None) is not (given.area is None):
        parser.error("--sample and --area go together")
    if given.sample is None:
        unknown = {*given.names} - {mutation.name for mutation in TABLE}
        if unknown:
            parser.error(f"the table has no {', '.join(sorted(unknown))}")
        chosen = [one for one in TABLE if one.name in given.names or not (given.names or one.equivalent)]
    else:
        every = sample(AREAS[given.area], given.sample, given.seed)
        chosen = [one for one in every if not given.names or one.name in given.names]
    for mutation in chosen:
        mutated((ROOT / SOURCES / mutation.file).read_text(), mutation)  # before anything is copied
    if given.list:
        for mutation in chosen:
            print(f"{mutation.name:4} {mutation.file}: {mutation.breaks}")
        return 0
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _interrupt)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        checkout, more = Checkout(Path(folder)), shlex.split(given.pytest)
        return _test_together(checkout, chosen, more) if given.all else _test_each(checkout, chosen, more)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)  # what was started is ended, and the copy removed
    raise SystemExit(128 + number)


def _test_each(checkout: Checkout, mutations: Sequence[Mutation], more: Sequence[str]) -> int:
    left = 0
    for mutation in mutations:
        began = time.monotonic()
        stages = [tests.split() for tests in (mutation.tests, mutation.rest) if tests]
        verdict, said = checkout.test([mutation], stages, more)
        left += _report(mutation, verdict, f"{said} ({time.monotonic() - began:.0f} s)")
    return _sum_up(left, len(mutations))


def _test_together(checkout: Checkout, mutations: Sequence[Mutation], more: Sequence[str]) -> int:
    found = checkout.test_together(mutations, more)
    return _sum_up(sum(_report(mutation, *found[mutation.name]) for mutation in mutations), len(mutations))


def _report(mutation: Mutation, verdict: str, said: str) -> bool:
    """Whether a test is missing."""
    print(f"{verdict:10} {mutation.name:4} {mutation.file}: {mutation.breaks}\n{'':15} {said}", flush=True)
    return verdict != KILLED and not mutation.equivalent


def _sum_up(left: int, number: int) -> int:
    print(f"{number - left} of {number} were noticed or are equivalent")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
