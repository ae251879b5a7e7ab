"""Words of the reference that the code does not carry. What a field means stands at the field, in the structs."""

from __future__ import annotations

SETTINGS = {
    "url": "Where the store is: `sqlite:///file.db`, `sqlite:////absolute/file.db`, `postgresql://…` or "
    "`memory://`, or that of an installed package. In `workbell.toml` a file of `sqlite` without a leading slash lies "
    "beside that one.",
    "queue_url": "The queue that wakes workers: `store://`, the hints of the store itself, or that of "
    "an installed package.",
    "app": "Where the command line finds your `Workbell`, as `module:name`.",
    "project": "What the project is called: its schedules are known by it. With a `workbell.toml`, the name of its "
    "folder; without one, the name of the program that was started.",
    "jobs": "The folder of job files. In `workbell.toml` it lies beside that one, as do the next two.",
    "database": "The application's own database, which handlers get as `ctx.db`: a SQLite file other than the "
    "store's, or `postgresql://…`.",
    "storage": "The folder of `ctx.storage`.",
    "timezone": "The zone of schedules that name none; otherwise the machine's.",
    "tenant": "The tenant whose runs the verbs make and see.",
    "log_level": "`debug`, `info`, `warning` or `error`.",
    "log_format": "`text`, `json`, or `auto`: text if stderr is a terminal, otherwise JSON.",
    "workers": "How many worker processes `workbell start` and `workbell worker` run. From 0 to 1,000; a start with "
    "0 schedules only.",
    "concurrency": "How many handlers run at once in one process. From 1 to 10,000.",
    "connections": "How many connections to PostgreSQL each process may have, the listening one included; None: 3 for "
    "a worker process, 5 for any other. From 2 to 1,000. A keeper always has one. See "
    "[How many connections](../how-to/tune.md#how-many-connections).",
    "lease": "How long a worker holds a run without renewing. From 0.5 to 86,400.",
    "sweep": "How often each process searches for expired leases: every 5 seconds, or every `poll` if that is longer, "
    "up to a `lease`, if it is not set. From 0.05 to 3,600.",
    "poll": "How often a worker polls the store if nothing wakes it: every second, or every 5 beside a queue, if it is "
    "not set. From 0.005 to 60.",
    "probe": "Where `workbell start`, `server` and `worker` answer "
    "[probes](../how-to/workers.md#probes): `127.0.0.1:8322`; None: nowhere.",
    "grace": "How long a stopping worker waits for its handlers. From 0 to 86,400.",
    "reschedules": "How many new runs `auto_reschedule` makes, one after another, before a chain ends.",
    "clean_every": "How often [history is cleaned](../how-to/operate.md#cleaning-history), in seconds.",
    "keep_succeeded": "How long succeeded runs stay in history.",
    "keep_other": "How long failed and canceled runs stay in history.",
    "keep_events": "How long events are kept, with what they matched.",
    "keep_audit": "How long entries of the audit log are kept.",
    "webhook_allow": "Places that webhooks may go to although they are not public: networks (`10.0.0.0/8`), names "
    "(`hooks.internal`, `*.internal`), each also with a port. In the environment with commas between them.",
    "webhook_disable_after": "A webhook endpoint that has failed for so long, and ten times in a row, is disabled. "
    "At least 60.",
    "secret_key": "The key that secrets and URLs of webhooks are encrypted with in the store; "
    "`workbell webhooks new-key` makes one. Several with commas between them: the first one seals, each of them opens.",
    "http": "Whether `workbell dev`, `start` and `server` serve the HTTP API. It needs the extra `workbell[server]`.",
    "http_host": "The address to listen on. `0.0.0.0` is every one of this machine.",
    "http_port": "The port; None: 8321, or the next one that is free. 0: any.",
    "http_auth": "`token`; or `none`, which lets everybody in and is refused unless only this machine can reach it; "
    "also with an `http_public_url` that is not this machine's.",
    "http_hosts": "The names that requests may ask for (`Host`), and whose pages may send some (`Origin`). "
    "`jobs.example` stands for the ports 80 and 443 and the service's own, `jobs.example:8443` for that port, and "
    "`https://jobs.example` for [this address alone](../how-to/http-api.md#where-it-listens-and-who-may-call-it). On "
    "this machine's own address its own names besides; elsewhere, if none are listed, any. In the environment with "
    "commas between them.",
    "http_public_url": "The URL at which browsers reach the service "
    "[through a proxy](../how-to/http-api.md#behind-a-proxy), such as `https://jobs.example.com`: printed addresses "
    "and the check of `Origin` use it. With https, session cookies are `Secure` and browsers are told to use https "
    "only.",
    "http_trusted_proxies": "Addresses and networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are "
    "believed; nobody else's are. In the environment with commas between them.",
    "http_body_limit": "The longest body of a request, in bytes.",
    "http_rate": "How many requests a second each token may make, in each process; 0: any number.",
    "http_log": "`all`, or `problems`: requests that were refused or failed.",
    "http_metrics_open": "Whether `/metrics` needs no token.",
    "sockets": "How many WebSockets a process serves at once.",
    "sockets_per_user": "How many of them one person, or one token, may have; one tenant may have nine tenths of all.",
}

# Fields whose names say it themselves: the page of the API has no words about them.
PLAIN_FIELDS = {
    "id": "Its id.",
    "name": "Its name.",
    "tenant": "The tenant it belongs to.",
    "description": "What it is for.",
    "created_at": "When it was made.",
    "created_by": "Who made it.",
    "updated_at": "When it was last changed.",
    "started_at": "When it started.",
    "finished_at": "When it ended.",
    "revoked_at": "When it was ended.",
    "seen_at": "When it was last seen.",
    "read_at": "When it was read.",
    "next_run_at": "When its next run will be due.",
    "next_attempt_at": "When it is tried again.",
    "last_run_at": "When it last made a run.",
    "last_run_id": "The run that it made last.",
    "last_fire_at": "When the scheduler last acted on it.",
    "last_error": "Why the scheduler failed, if it did.",
    "time": "When it was emitted.",
    "at": "When.",
    "since": "Since when.",
    "job": "The name of the job.",
    "jobs": "The names of the jobs that it knows.",
    "run": "The id of the run.",
    "schedule": "The id of the schedule.",
    "event": "The id of the event.",
    "endpoint": "The id of the endpoint.",
    "attempt": "Which attempt it was.",
    "attempts": "How often it was tried.",
    "run_count": "How many runs it has made.",
    "kind": "Its kind.",
    "status": "Where it stands.",
    "outcome": "What became of it.",
    "action": "What was done.",
    "scopes": "What it allows.",
    "host": "The machine that it is on.",
    "pid": "Its process there.",
    "version": "The version of its program.",
    "concurrency": "How many handlers it runs at once.",
    "timezone": "The zone of its expression and of its window.",
    "queue": "The queue of its runs; None: the job's own.",
    "priority": "The priority of its runs; None: the job's own, else 0.",
    "timeout": "Seconds for one attempt; None: the job's own, else no limit.",
    "retry": "The retry policy of its runs; None: the job's own, else the default.",
    "tag": "The tag of its runs; None: the job's own.",
    "paused": "True: `pause` was called.",
}

# Attributes of values that the API has under another name, or not at all.
MODEL_FIELDS = {
    "Agent.metrics_text": "The metrics of its last heartbeat, as JSON.",
    "AuditEntry.detail_text": "More about it, as JSON; `by` has the ids of the actor.",
    "Job.id": "Its id, which stays when it is put again; empty, if no worker has declared it yet.",
    "Job.options": "What it says about its runs besides: the words of the settings below.",
    "Job.input_text": "Of a definition: the JSON that the input of each run is merged onto; `job.input` is a dict.",
    "Job.queue": "The queue of its runs.",
    "Job.retry": "The retry policy of its runs; None: the default.",
    "Job.timeout": "Seconds for one attempt; None: no limit.",
    "Notification.text": "The JSON of `data`.",
    "Trigger.declared_at": "When code last declared it.",
    "Trigger.job": "What they start; in `as_dict()` it is `processor_name`.",
    "Trigger.options": "What it says about its runs: the words of `settings`; in `as_dict()` each is a field.",
    "Trigger.pattern": "Which events; in `as_dict()` it is `event_pattern`.",
    "Trigger.retry": "The retry policy of its runs; None: the job's own. In `as_dict()` it is `retry_config`.",
    "Trigger.version": "How often it was changed.",
}

OTHER_WORDS = {
    "Enqueuer.request": "As for the job itself, with the options.",
    "Enqueuer.enqueue": "As for the job itself, with the options.",
    "JobFolder.project": "The project's name.",
    "JobFolder.unwatch": "End what `watch` began.",
}

OTHER_OPTIONS = {
    "queue": "Another queue than the job's own.",
    "tenant": "Another tenant than the caller's.",
    "retry": "Another retry policy than the job's own: a Retry, a number of attempts, or a dict in the words of "
    "schedules.",
    "timeout": "Another limit than the job's own for one attempt.",
    "priority": "From -100 to 100; higher first.",
    "description": "What it is for.",
    "created_by": "Who created it.",
    "enabled": "False: it is there, and does not fire.",
}

# Methods that are there for other parts of Workbell.
FOR_US = {
    "JobFunction.services",
    "JobFolder.clash_of",
    "JobFolder.declare_again",
    "JobFolder.describe",
    "JobFolder.job_of",
    "JobFolder.start",
    "Schedules.check",
    "Schedules.delete_if",
    "Schedules.disable_others",
    "Schedules.put_all",
    "Workbell.registry",
    "Workbell.store",
}
