"""Translates the errors of PostgreSQL and its driver into ours: an outage, a lock wait, or a refusal; with a remedy.

`StoreUnavailable` is an outage that ends by itself: the engine waits with its runs, and tries again. A server that
can be read and not written (a standby, a full disk) counts as one that is not there.
"""

from __future__ import annotations

import psycopg

from workbell.errors import StoreError, StoreUnavailable
from workbell.stores.postgres.connections import AllBusy

READ_ONLY = "25006"
SILENT_CLIENT = "25P03"
STARTING_OR_STOPPING = ("57P01", "57P02", "57P03")
# Errors of a pooler in transaction mode that does not track prepared statements: one is missing, exists already, or is
# another client's with other parameters.
PREPARED = ("26000", "42P05", "08P01")
# Messages of a server, or its pooler, that is full, and of one that refuses the user.
FULL = ("too many clients", "too many connections", "remaining connection slots", "no more connections allowed")
UNKNOWN = ("authentication failed", "does not exist", "pg_hba.conf", "permission denied", "no such database")
STANDBY = "hot standby"
NO_PRIMARY = ("session is read-only", STANDBY)  # of a host that was asked for a primary, and is none
REPEAT = "see who with `workbell doctor`, end it or repeat the call"


class Busy(StoreUnavailable):
    """All connections of this process were in use for as long as was waited."""


class NotConnected(psycopg.OperationalError):
    """No connection could be opened."""


class InRecovery(psycopg.errors.ReadOnlySqlTransaction):
    """A write was refused by a standby that was not promoted yet."""


class TooLate(psycopg.OperationalError):
    """A call was not over within its deadline."""

    def __init__(self, seconds: float, *, answered: bool) -> None:
        super().__init__(f"no answer within {seconds:g} s")
        self.seconds = seconds
        self.answered = answered  # to the cancel: the server is well, and the statement took too long


def translated(error: psycopg.Error, name: str, *, lock: float, idle: float) -> StoreError:
    """An error of ours for one of the driver's. The numbers are the limits of a transaction, in seconds."""
    line, state = first_line(error), error.sqlstate or ""
    reason = _outage(error, state, line, lock=lock, idle=idle, several="," in name)
    if reason is not None:
        return StoreUnavailable(f"PostgreSQL at {name}{reason}.")
    if isinstance(error, psycopg.errors.UndefinedTable):
        return StoreError(f"{name}: {line}; run `workbell migrate`.")
    return StoreError(f"{name}: {line}.")


def _outage(error: psycopg.Error, state: str, line: str, *, lock: float, idle: float, several: bool) -> str | None:
    """The message for an error that ends by itself; None for any other. The URL may name `several` hosts."""
    match error:
        case TooLate(answered=True):
            return (
                f": not done within {error.seconds:g} s, and cancelled; if it waited for a lock that another "
                f"transaction holds, {REPEAT}"
            )
        case TooLate():
            return f" did not answer within {error.seconds:g} s; check that it runs and is not overloaded"
        case NotConnected():
            return _not_connected(error, line, several=several)
        case InRecovery():
            return _standby(line)
        case AllBusy():
            return (
                f": {line}; raise the setting `connections`, or if they wait for a lock that another transaction "
                f"holds, {REPEAT}"
            )
        case psycopg.errors.LockNotAvailable():
            return f": waited over {lock:g} s for a lock that another transaction holds; {REPEAT}"
        case psycopg.errors.QueryCanceled() if "statement timeout" in line:
            return f": a statement took too long, and was ended ({line}); repeat the call when it is less busy"
        case psycopg.errors.QueryCanceled():
            return f": the call was cancelled there ({line}); repeat it"
    if is_about_preparing(error):
        return f": {line}. A pooler seems to be in between: add `?prepare_threshold=0` to the URL of the store"
    if state == READ_ONLY:
        return _read_only(line)
    if state == SILENT_CLIENT:
        return (
            f": this process stood still for over {idle:g} s in a transaction, which was rolled back; repeat the call"
        )
    if state == psycopg.errors.TooManyConnections.sqlstate:
        return _full(line)
    if state.startswith("53"):
        return f" is out of resources ({line}); free some"
    if state in STARTING_OR_STOPPING:
        return f" is stopping or starting, or has ended the connection ({line}); repeat the call"
    if not state and "results from command" in line:  # a pooler also sends what the server said before it hung up
        return f": the connection was lost ({line}); check that it runs, and repeat the call"
    # Class 54 is permanent: the statement is too large.
    if not isinstance(error, psycopg.OperationalError) or state.startswith("54"):
        return None
    if state and not state.startswith("08"):
        return f": {line}; repeat the call"
    return f": the connection was lost ({line}); check that it runs, and repeat the call"


def is_about_preparing(error: psycopg.Error) -> bool:
    return (error.sqlstate or "") in PREPARED and "prepared statement" in first_line(error)


def _not_connected(error: NotConnected, line: str, *, several: bool) -> str:
    if several and any(words in str(error) for words in NO_PRIMARY):  # the others may be down: their primary too
        return (
            f" has no primary among these hosts yet ({line}); promote a standby; workers wait for that, other calls "
            "have to be repeated"
        )
    if any(words in line for words in FULL):
        return _full(line)
    if "the database system is" in line:  # starting up, shutting down, in recovery mode
        return f" is stopping or starting ({line}); repeat the call"
    if STANDBY in line:
        return _standby(line)
    if any(words in line for words in NO_PRIMARY):
        return _read_only(line)
    if any(words in line for words in UNKNOWN):
        return f" does not let us in ({line}); check the user, the password and the database in the URL"
    if "startup parameter" in line:
        return (
            f" has refused a parameter of the URL ({line}); a pooler seems to be in between: leave it out, or name it "
            "in the pooler's ignore_startup_parameters"
        )
    if "FATAL" in line:  # it is there, or its pooler is
        return f" has refused the connection ({line}); repeat the call"
    return f" cannot be reached; check that it runs and that the URL is right ({line})"


def _full(line: str) -> str:
    return f" has no connection left ({line}); raise its limit on them, or start fewer processes"


def _standby(line: str) -> str:
    return f" is a standby in recovery ({line}); promote it, or connect to its primary"


def _read_only(line: str) -> str:
    return f" is read-only ({line}); connect to its primary, or free space there and make it writable"


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
