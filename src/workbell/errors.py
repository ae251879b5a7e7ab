"""Every error Workbell raises: one small tree, so that a caller can catch as widely or narrowly as it needs.

A message names the thing, the reason and the remedy. `exit_code` is what the command line ends with.
"""


class WorkbellError(Exception):
    """Something went wrong in Workbell."""

    exit_code = 1


class JobsError(WorkbellError):
    """A job, a schedule or one of their settings is declared wrongly."""

    exit_code = 78


class UnknownJob(JobsError):
    """No job of this name is known here or in the store."""

    exit_code = 4


class JobDisabled(WorkbellError):
    """The job is disabled, and takes no new runs."""

    http_status = 409


class JobExists(WorkbellError):
    """Code has a job of this name, so it cannot be a definition."""

    http_status = 409


class JobInUse(WorkbellError):
    """A schedule, a trigger or a definition still names the job."""

    http_status = 409


class InvalidInput(WorkbellError):
    """The arguments do not fit the job's signature, or the limits of size and depth."""


class InvalidOption(WorkbellError):
    """An option of an enqueue, a filter or a setting has a value that cannot be used."""


class ClockSkew(InvalidOption):
    """The time in the id that a client chose for a run is too far from the store's clock."""


class InvalidEvent(WorkbellError):
    """An event, its type or a pattern cannot be used."""


class DuplicateRun(WorkbellError):
    """A run with this key exists, and the caller asked for duplicates to be rejected."""

    def __init__(self, message: str, run_id: str) -> None:
        super().__init__(message)
        self.run_id = run_id


class RunNotFound(WorkbellError):
    """No run with this id belongs to the tenant."""

    exit_code = 4


class ScheduleNotFound(WorkbellError):
    """No schedule of this name belongs to the tenant."""

    exit_code = 4


class UnknownProcessor(JobsError):
    """No job of this name is known, here or in the store, that an event could start."""

    exit_code = 4


class TriggerNotFound(WorkbellError):
    """No trigger of this name or id belongs to the tenant."""

    exit_code = 4


class TriggerExists(WorkbellError):
    """A trigger of this name exists already."""


class EventNotFound(WorkbellError):
    """No event with this id belongs to the tenant."""

    exit_code = 4


class RunNotFinished(WorkbellError):
    """The run has not ended, and what was asked needs an ended one."""


class UnreadableRow(WorkbellError):
    """What the store holds of this cannot be read."""

    http_status = 409  # deterministic, and the caller can mend it: no reason to ask again


class WaitTimeout(WorkbellError):
    """The run did not end within the time the caller was willing to wait."""

    exit_code = 3


class QueueUnavailable(WorkbellError):
    """The queue beside the store refused a call, or could not be reached; runs are found by polling meanwhile."""

    exit_code = 69


class UnknownMessage(WorkbellError):
    """A message of a queue cannot be read, or is of another version."""


class LeaseLost(WorkbellError):
    """Another worker holds the run now; nothing this one writes about it is accepted."""


class InvalidUrl(WorkbellError):
    """The store's URL cannot be read."""

    exit_code = 78


class SettingsError(WorkbellError):
    """A setting in the environment or in `workbell.toml` cannot be used."""

    exit_code = 78


class Untrusted(SettingsError):
    """A file of settings or code could have been written by others, and is not used."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message  # without the file's name, where that is said beside it


class DatabaseUnavailable(WorkbellError):
    """The application's own database, that of `ctx.db`, could not be opened."""

    exit_code = 69


class StoredFileNotFound(WorkbellError):
    """No file with this id is stored in `ctx.storage`."""

    exit_code = 4


class StoreError(WorkbellError):
    """The store refused or failed."""


class StoreUnavailable(StoreError):
    """The database could not be reached or written, or did not answer within its deadline."""

    exit_code = 69


class SchemaMismatch(StoreError):
    """The tables in the store are missing, or older or newer than this version can work with."""

    exit_code = 78


class WrongConnection(StoreError):
    """The connection handed to `connection=` does not belong to the store's database."""


class MissingPackage(WorkbellError):
    """A part of Workbell was asked for whose packages are not installed."""

    exit_code = 78


class EndpointRefused(WorkbellError):
    """The URL may not be sent to."""


class SendFailed(WorkbellError):
    """No answer came back: the name, the connection, TLS or the answer itself failed, or the time was over."""

    exit_code = 69


class InvalidSignature(WorkbellError):
    """A webhook that arrived was not signed with a secret that is valid here, or not within the last minutes."""


class SecretSealed(WorkbellError):
    """A stored secret cannot be opened with the keys of this process."""

    exit_code = 78


class EndpointNotFound(WorkbellError):
    """No webhook endpoint with this id belongs to the tenant."""

    exit_code = 4


class Unauthorized(WorkbellError):
    """There is no token, or it is not valid here."""

    exit_code = 77


class Forbidden(WorkbellError):
    """The token does not allow this."""

    exit_code = 77


class NotFound(WorkbellError):
    """There is nothing of this name here."""

    exit_code = 4


class TokenNotFound(NotFound):
    """No token with this id belongs to the tenant."""


class AgentNotFound(NotFound):
    """No agent of this name or id belongs to the tenant."""


class AgentExists(WorkbellError):
    """An agent of this name exists already."""

    http_status = 409


class WorkerNotFound(NotFound):
    """No living worker with this id is known."""


class TenantNotFound(NotFound):
    """Nothing is known of a tenant of this name."""


class KeyReused(WorkbellError):
    """The idempotency key or id belongs to another request, or to one that is still being worked on."""


class PreconditionFailed(WorkbellError):
    """It was changed by another caller since it was read."""


class TooLarge(WorkbellError):
    """The request is larger than the server takes."""


class TooMany(WorkbellError):
    """There are too many requests, or too many connections."""

    retry_after = 1


class ServiceUnavailable(WorkbellError):
    """The service could not be reached over HTTP, did not answer in time, or something else answered there."""

    exit_code = 69
