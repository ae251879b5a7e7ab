"""Words of the reference that the code does not carry: what a setting means, or a field of a run."""

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
    "sweep": "How often each process searches for expired leases. From 0.05 to 3,600.",
    "poll": "How often a worker polls the store if nothing wakes it: every second, or every 5 beside a queue, if it is "
    "not set. From 0.005 to 60.",
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
    "http_hosts": "The names that requests may ask for (`Host`), and whose pages may send some (`Origin`). On this "
    "machine's own address its own names besides; elsewhere, if none are listed, any. In the environment with commas "
    "between them.",
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

RUN = {
    "id": "Its id, a UUID of version 7: ids sort by the time they were made.",
    "job": "The name of the job.",
    "status": "One of the six words; see below.",
    "attempt": "How often a worker has started it.",
    "failures": "How often its handler has failed: what the retry policy counts.",
    "losses": "How often its worker was lost.",
    "scheduled_for": "When it is due, or was.",
    "started_at": "When the current or last attempt began.",
    "finished_at": "When it ended.",
    "input": "The arguments, by name.",
    "result": "What the handler returned.",
    "error": "What went wrong last: the error on the first line; its traceback, notes and causes below.",
    "error_type": "The class path of that exception, such as `builtins.ValueError`; none if only a message was given.",
    "reason": "Why it is where it is: `error`, `timeout`, `payload`, `result`, `memory`, `cpu`, `isolate`, "
    "`internal`, `worker lost`, `crashed`, `expired`, or the text given to `cancel` or to a `Snooze`.",
    "queue": "The queue it belongs to.",
    "priority": "From -100 to 100; higher first.",
    "tag": "The word given with `tag=`.",
    "key": "The word given with `key=`.",
    "user_id": "Whom it belongs to: a number or a text; 0 is the system.",
    "tenant": "The tenant it belongs to.",
    "schedule": "The id of the schedule that made it.",
    "event": "The id of the event that made it.",
    "target": "The agent that is to run it, or `label:x`; no worker takes a run with a target.",
    "parent": "The run whose handler made it.",
    "retry_of": "The finished run that this one repeats (`bell.retry`).",
    "rescheduled_from": "The failed run that this one follows (`auto_reschedule=`).",
    "persistent": "False: it ends if the process that enqueued it is restarted before it starts.",
    "expires_at": "Not started by then: canceled.",
    "remove_at": "When it is removed from history.",
    "progress": '`{"done", "total", "message"}` as last reported by the handler.',
    "cancel_requested": "True: a cancel was asked for, and its handler has not ended yet.",
    "created_at": "When it was asked for.",
    "updated_at": "When it last moved.",
}

SCHEDULE = {
    "id": "Its id.",
    "name": "Its name, by which it is known within the tenant.",
    "tenant": "The tenant it belongs to.",
    "job": "The name of the job that it runs.",
    "kind": "`cron`, `interval` or `once`.",
    "expression": "When, as it is kept: a cron expression; `5m from 2026-11-16T00:00:00Z`; or an instant.",
    "timezone": "The zone of its expression and of its window.",
    "enabled": "False: its declaration has switched it off, or is gone.",
    "paused": "True: `pause` was called.",
    "reason": "Why it is paused or switched off.",
    "source": "Who declared it: `api`, `code:` or `file:` with the project's name.",
    "payload": "The arguments of every run.",
    "next_run_at": "When its next run will be due.",
    "last_run_at": "When it last made a run.",
    "last_run_id": "The run that it made last.",
    "run_count": "How many runs it has made.",
    "failure_count": "Runs that failed for good, and ticks at which the scheduler failed.",
    "last_fire_status": "How the scheduler last did: `fired`, `skipped` or `scheduler_failed`.",
    "last_fire_at": "When that was.",
    "last_run_status": "How its last ended run did: `success` or `failed`.",
    "last_status": "The newer of the two, as one word.",
    "last_error": "Why the scheduler failed, if it did.",
    "last_scheduled_at": "Every tick up to here is accounted for.",
    "created_at": "When it was first declared.",
    "updated_at": "When its definition last changed.",
    "queue": "The queue of its runs; None: the job's own.",
    "priority": "The priority of its runs; None: the job's own, else 0.",
    "retry": "The retry policy of its runs; None: the job's own.",
    "timeout": "The limit of an attempt in seconds; None: the job's own.",
    "target": "The agent that is to run them, or `label:x`; no worker takes a run with a target.",
    "tag": "The tag of its runs; None: the job's own.",
    "replace_tag": "True: a new run cancels those of the tag that have not started.",
    "user_id": "Whom its runs belong to; None: the job's own, else 0.",
    "persistent": "False: a run ends if the scheduler that made it is restarted before it starts.",
    "auto_reschedule": "After how many seconds a failed run is followed by a new one; None: the job's own.",
    "remove_delay": "For how many seconds its runs are kept after their end; None: the job's own, else the setting.",
    "expires": "After how many seconds a run that is due and has not started is canceled; None: the job's own.",
    "window": "Two times of day between which runs may start, or None.",
    "outside": "A tick outside the window: `defer` or `skip`.",
    "overlap": "A tick while an earlier run lives: `skip`, `queue_one`, `allow` or `cancel_previous`.",
    "catch_up": "Ticks that no scheduler was there for: `latest`, `all` or `none`.",
    "catch_up_cap": "How many runs `all` makes at the most.",
    "jitter": "Over how many seconds its runs are spread.",
    "description": "What it is for.",
    "created_by": "Who created it.",
}

EVENT = {
    "id": "Its id, a UUID of version 7. Webhooks have it as `webhook-id`.",
    "type": "What happened: `orders.placed`.",
    "source": "Who emitted it.",
    "subject": "What it is about.",
    "time": "When it was emitted.",
    "data": "What it carries.",
    "key": "What the teller knows it by: of events with one source and key there is one.",
    "tenant": "The tenant it belongs to.",
    "system": "True: Workbell itself emitted it.",
    "depth": "How many events lie behind it, each the cause of the next.",
    "cause": "The id of the run that emitted it, or that it is about.",
    "created_at": "When it was stored.",
    "fanned_out_at": "When its runs were made; None: not yet.",
}

JOB = {
    "id": "Its id, which stays when it is put again; empty, if no worker has declared it yet.",
    "name": "Its name, by which it is known within the tenant.",
    "handler": "Of a definition: the job whose code runs. Of code: where it is.",
    "created_at": "When it was made.",
    "updated_at": "When it was last put, or declared by a worker.",
    "tenant": "The tenant it belongs to.",
    "queue": "The queue of its runs.",
    "description": "What it is for.",
    "payload_template": "Of a definition: the JSON that the input of each run is merged onto; `job.payload` is a dict.",
    "retry": "The retry policy of its runs; None: the default.",
    "timeout": "Seconds for one attempt; None: no limit.",
    "concurrency": "Most of its runs at once, over all machines; None: no limit.",
    "concurrency_key": "The argument by whose value that is counted.",
    "rate": "Most starts in a time, such as `100/m`; None: no limit.",
    "rate_key": "The argument by whose value that is counted.",
    "enabled": "Of a definition: False, if it takes no new runs, and those that wait go on waiting.",
    "processor": "Whether its handler takes an event, so that a trigger can start it.",
    "alert_url": "Called when a run fails for good; stored sealed, if there is a key.",
    "ping_url": "Called at every end of a run; stored sealed, if there is a key.",
    "options": "What it says about its runs besides: the words of the settings below.",
    "source": "`api` of a definition, `code` of a job that code declares.",
    "version": "How often a definition was changed.",
}

TRIGGER = {
    "id": "Its id.",
    "name": "Its name, by which it is known within the tenant.",
    "pattern": "Which events; in `as_dict()` it is `event_pattern`.",
    "job": "What they start; in `as_dict()` it is `processor_name`.",
    "created_at": "When it was made.",
    "updated_at": "When it was last changed.",
    "tenant": "The tenant it belongs to.",
    "description": "What it is for.",
    "enabled": "False: what it matches is noted, and starts nothing.",
    "retry": "The retry policy of its runs; None: the job's own. In `as_dict()` it is `retry_config`.",
    "source": "Who declared it: `api`, `code:` or `file:` with the project's name.",
    "declared_at": "When code last declared it.",
    "version": "How often it was changed.",
    "options": "What it says about its runs: the words of `settings`; in `as_dict()` each is a field.",
}

DELIVERY = {
    "id": "Its id, which is that of its run.",
    "endpoint": "The id of the endpoint.",
    "event": "The id of the event.",
    "status": "That of the run.",
    "attempts": "How often it was tried.",
    "created_at": "When it was made.",
    "status_code": "The last answer's.",
    "duration_ms": "How long the last answer took.",
    "answer": "The beginning of the last answer, at most a kilobyte.",
    "error": "What went wrong last, or why it was canceled.",
    "next_attempt_at": "When it is tried again.",
    "finished_at": "When it ended.",
}

NOTIFICATION = {
    "id": "Its id, a UUID of version 7.",
    "tenant": "The tenant it belongs to.",
    "user_id": "The recipient; None: everybody of the tenant.",
    "text": "The JSON of `data`.",
    "created_at": "When it was sent.",
    "read_at": "When the person it was asked for has read it.",
}

TOKEN = {
    "id": "Its id; not its text.",
    "hash": "The SHA-256 of its text.",
    "created_at": "When it was made.",
    "tenant": "The tenant it acts for; `*`: any.",
    "kind": "`api`, `session`, `agent`; or `login`, `ticket`, `pairing`, which are good once.",
    "name": "What it is called; the actor of the audit log.",
    "scopes": "What it allows.",
    "user_id": "Whose notifications it reads.",
    "agent": "The id of the agent that it is of.",
    "created_by": "Who made it.",
    "expires_at": "When it ends by itself.",
    "revoked_at": "When it was ended.",
    "last_used_at": "When it was last used, to about a minute.",
}

ACCESS = {
    "tenant": "The tenant it acts for; `*`: any.",
    "scopes": "What it may do.",
    "actor": "The name in the audit log.",
    "user_id": "Whose notifications it reads.",
    "agent": "The id of the agent that it is.",
    "token": "The id of the token behind it; set by the service.",
    "kind": "Kind of the actor in the audit log; set by the service, here always `app`.",
    "made_with": "The id of the token that a session was made with; set by the service.",
}

TENANT = {
    "name": "Its name.",
    "created_at": "When something was first set for it.",
    "updated_at": "When that was last changed.",
    "description": "Who it is.",
    "weight": "Its share of the starts, from 1 to 1,000.",
    "concurrency": "How many of its runs may be running at once.",
    "rate": "How many may start: `100/m`.",
}

AUDIT = {
    "id": "Its id, a UUID of version 7.",
    "tenant": "The tenant of the action.",
    "at": "When.",
    "actor": "The actor, kind and name: `token:grafana`, `session:eve`, `cli:ada@shop`.",
    "action": "What: `runs.cancel`.",
    "subject": "To what.",
    "detail_text": "More about it, as JSON; `by` has the ids of the actor.",
    "address": "From where.",
}

AGENT = {
    "id": "Its id.",
    "name": "Its name, at which runs are aimed.",
    "created_at": "When it was first paired.",
    "tenant": "The tenant it belongs to.",
    "labels": "Its labels; `label:x` aims at each agent with the label x.",
    "jobs": "What it last said it can run; None: anything, or it has not asked yet.",
    "version": "The version of its program.",
    "host": "The machine it is on.",
    "metrics_text": "The metrics of its last heartbeat, as JSON.",
    "enabled": "False: it gets no more runs.",
    "seen_at": "When it was last seen.",
}

TICK = {
    "schedule": "The id of the schedule.",
    "due": "The instant; of a span, the first.",
    "outcome": "One of the four words below.",
    "created_at": "When it was noted.",
    "until": "The last instant of a span; None for a single one.",
    "count": "How many ticks the row stands for.",
    "run": "The run that it made or was merged into.",
    "reason": "Why it did not simply fire.",
}

WORKER = {
    "id": "Its id: `host/pid/start/…`. A process that is started again is another worker.",
    "host": "The machine it is on.",
    "pid": "Its process there.",
    "incarnation": "Distinguishes it from an earlier process with the same pid.",
    "version": "The version of Workbell that it runs.",
    "queues": "The queues that it serves; None: all.",
    "jobs": "The names of the jobs that it knows.",
    "concurrency": "How many handlers it runs at once.",
    "started_at": "When it started.",
    "seen_at": "When it was last seen.",
    "stopping": "True: it takes no more runs, and ends what it has.",
    "drained_at": "Since when it is to claim nothing more, because somebody drained it; None: it claims.",
    "drain_seen_at": "When it said that it obeys, and begins nothing more; None: it may not have read the request yet.",
}

LOG_LINE = {
    "run": "The id of the run.",
    "attempt": "Which attempt logged it.",
    "line": "Its number within the attempt, from 0.",
    "at": "When it was logged.",
    "level": "`INFO`, `WARNING`, `ERROR`, as the logging system names them.",
    "message": "The message, with the traceback below it if there was one.",
}

PAUSE = {
    "tenant": "Whose pause it is.",
    "queue": "The queue; None: every one.",
    "job": "The job; None: every one.",
    "since": "Since when.",
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
    "Schedules.preview_within",
    "Schedules.disable_others",
    "Schedules.put_all",
    "Workbell.registry",
    "Workbell.store",
}
