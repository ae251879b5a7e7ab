// Types of the HTTP API, generated from its OpenAPI document by tools/dashboard_types.py.
// Do not edit them: run `make generate`.

export interface Schemas {
  "Action": "cancel" | "retry";
  "AgentChange": {
    "labels"?: string[] | null;
    "enabled"?: boolean | null;
  };
  "AgentLogLine": {
    "message": string;
    "level"?: string;
    "line"?: number | null;
    "at"?: string | null;
  };
  "AgentShown": {
    "id": string;
    "name": string;
    "tenant": string;
    "labels": string[];
    "jobs": string[] | null;
    "version": string;
    "host": string;
    "metrics": { [name: string]: unknown } | null;
    "enabled": boolean;
    "alive": boolean;
    "seen_at": string | null;
    "created_at": string;
    "unreadable": string | null;
  };
  "AgentShownListPage": {
    "items": Schemas["AgentShown"][];
    "next": string | null;
  };
  "Answer": "done" | "ignored" | "retry";
  "AttemptShown": {
    "run": string;
    "number": number;
    "status": Schemas["AttemptStatus"];
    "started_at": string | null;
    "finished_at": string | null;
    "worker": string | null;
    "error": string | null;
    "error_type": string | null;
    "result": unknown;
  };
  "AttemptShownListPage": {
    "items": Schemas["AttemptShown"][];
    "next": string | null;
  };
  "AttemptStatus": "running" | "succeeded" | "failed" | "lost" | "released" | "snoozed" | "canceled";
  "AuditShown": {
    "id": string;
    "tenant": string;
    "at": string;
    "actor": string;
    "action": string;
    "subject": string;
    "detail": unknown;
    "address": string | null;
  };
  "AuditShownListPage": {
    "items": Schemas["AuditShown"][];
    "next": string | null;
  };
  "BulkBody": {
    "action": Schemas["Action"];
    "filter": Schemas["BulkFilter"];
    "dry_run"?: boolean;
  };
  "BulkFilter": {
    "status"?: Schemas["Status"][];
    "job"?: string | null;
    "queue"?: string | null;
    "tag"?: string | null;
    "schedule"?: string | null;
    "user_id"?: number | string | null;
    "target"?: string | null;
    "event"?: string | null;
    "retry_of"?: string | null;
    "retried"?: boolean | null;
    "since"?: string | null;
    "until"?: string | null;
    "input"?: { [name: string]: string | number | boolean | null } | null;
  };
  "CancelBody": {
    "reason"?: string;
  };
  "CatchUp": "latest" | "all" | "none";
  "CloudEvent": {
    "specversion": "1.0";
    "id": string;
    "source": string;
    "type": string;
    "subject"?: string | null;
    "time"?: string | null;
    "data"?: unknown;
    "data_base64"?: null;
  };
  "ConsumeBody": {
    "version"?: number;
    "run"?: string;
    "kumofireJobRunId"?: string;
    "runs"?: string[] | null;
    "limit"?: number | null;
    "seconds"?: number;
  };
  "Consumed": {
    "results": Schemas["ConsumedRun"][];
  };
  "ConsumedRun": {
    "run": string;
    "answer": Schemas["Answer"];
    "status"?: Schemas["Status"] | null;
    "reason"?: string | null;
    "retry_after"?: number | null;
  };
  "Counted": {
    "count": number;
    "capped": boolean;
  };
  "CronAsked": {
    "cron"?: string | null;
    "every"?: number | null;
    "anchor"?: string | null;
    "at"?: string | null;
    "timezone"?: string;
    "window"?: string[] | null;
    "outside"?: Schemas["Outside"] | null;
    "n"?: number;
  };
  "Delivery": {
    "id": string;
    "endpoint": string;
    "event": string | null;
    "status": Schemas["Status"];
    "attempts": number;
    "created_at": string;
    "status_code": number | null;
    "duration_ms": number | null;
    "answer": string | null;
    "error": string | null;
    "next_attempt_at": string | null;
    "finished_at": string | null;
  };
  "DeliveryItems": {
    "items": Schemas["Delivery"][];
  };
  "DeliveryListPage": {
    "items": Schemas["Delivery"][];
    "next": string | null;
  };
  "DisableBody": {
    "reason"?: string;
  };
  "DispatchBody": {
    "limit"?: number;
  };
  "Dispatched": {
    "fired": number;
    "fanned_out": number;
    "queued": number;
    "recovered": number;
    "removed": number;
    "sent": number;
  };
  "Ending": "succeeded" | "failed" | "canceled" | "snoozed" | "released";
  "EndpointBody": {
    "headers"?: { [name: string]: string } | null;
    "description"?: string | null;
    "retry_config"?: Schemas["RetryConfigBody"] | null;
    "rate"?: string | null;
    "concurrency"?: number | null;
    "timeout"?: number | null;
    "url": string;
    "patterns": string[];
    "secret"?: string | null;
  };
  "EndpointChange": {
    "headers"?: { [name: string]: string } | null;
    "description"?: string | null;
    "retry_config"?: Schemas["RetryConfigBody"] | null;
    "rate"?: string | null;
    "concurrency"?: number | null;
    "timeout"?: number | null;
    "url"?: string | null;
    "patterns"?: string[] | null;
  };
  "EndpointShown": {
    "id": string;
    "url": string;
    "description": string;
    "patterns": string[];
    "header_names": string[] | null;
    "secrets": Schemas["SecretShown"][];
    "sealed": boolean;
    "enabled": boolean;
    "disabled_reason": string | null;
    "disabled_at": string | null;
    "retry_config": Schemas["RetryConfigShown"] | null;
    "rate": string | null;
    "concurrency": number | null;
    "timeout": number | null;
    "failures_in_a_row": number;
    "failing_since": string | null;
    "last_success_at": string | null;
    "last_failure_at": string | null;
    "slowed": Schemas["SlowedShown"] | null;
    "tenant": string;
    "created_at": string;
    "updated_at": string;
    "unreadable": string | null;
  };
  "EndpointShownListPage": {
    "items": Schemas["EndpointShown"][];
    "next": string | null;
  };
  "EndsOfJob": {
    "succeeded": number;
    "failed": number;
    "canceled": number;
    "retried": number;
    "job": string;
  };
  "EndsOfStep": {
    "succeeded": number;
    "failed": number;
    "canceled": number;
    "retried": number;
    "at": string;
  };
  "EventBody": {
    "type": string;
    "data"?: unknown;
    "subject"?: string | null;
    "source"?: string | null;
    "key"?: string | null;
  };
  "EventCount": {
    "event": string;
    "type": string;
    "fanned_out": boolean;
    "count": number;
    "started": number;
    "capped": boolean;
  };
  "EventCountItems": {
    "items": Schemas["EventCount"][];
  };
  "EventShown": {
    "id": string;
    "type": string;
    "source": string;
    "subject": string | null;
    "time": string;
    "data": unknown;
    "key": string | null;
    "tenant": string;
    "system": boolean;
    "depth": number;
    "cause": string | null;
    "created_at": string;
    "fanned_out_at": string | null;
    "unreadable": string | null;
  };
  "EventShownItems": {
    "items": Schemas["EventShown"][];
  };
  "EventShownListPage": {
    "items": Schemas["EventShown"][];
    "next": string | null;
  };
  "EventSubscriber": {
    "kind": "trigger" | "endpoint";
    "id": string;
    "name": string;
    "patterns": string[];
    "enabled": boolean;
    "reason": string | null;
    "job": string | null;
  };
  "EventSubscribers": {
    "items": Schemas["EventSubscriber"][];
    "matches": boolean | null;
  };
  "Execution": {
    "id": string;
    "job_id": string | null;
    "event_id": string | null;
    "status": Schemas["ExecutionStatus"];
    "attempt_number": number;
    "started_at": string | null;
    "completed_at": string | null;
    "error": string | null;
    "result": unknown;
    "next_retry_at": string | null;
    "locked": string | null;
    "created_at": string;
  };
  "ExecutionListPage": {
    "items": Schemas["Execution"][];
    "next": string | null;
  };
  "ExecutionStatus": "pending" | "running" | "completed" | "failed";
  "FieldProblem": {
    "where": string;
    "what": string;
  };
  "FindingShown": {
    "name": string;
    "state": "ok" | "warning" | "problem";
    "says": string;
    "remedy": string | null;
  };
  "Findings": {
    "items": Schemas["FindingShown"][];
    "complete": boolean;
    "at": string;
  };
  "FireStatus": "fired" | "deferred" | "skipped" | "scheduler_failed";
  "FoundRun": {
    "id": string;
    "status": Schemas["Status"];
    "job": string;
    "attempt": number;
    "failures": number;
    "losses": number;
    "scheduled_for": string;
    "started_at": string | null;
    "finished_at": string | null;
    "input": { [name: string]: unknown };
    "result": unknown;
    "error": string | null;
    "error_type": string | null;
    "reason": string | null;
    "queue": string;
    "priority": number;
    "tag": string | null;
    "key": string | null;
    "user_id": number | string;
    "tenant": string;
    "schedule": string | null;
    "event": string | null;
    "target": string | null;
    "parent": string | null;
    "retry_of": string | null;
    "rescheduled_from": string | null;
    "imported_id": string | null;
    "persistent": boolean;
    "expires_at": string | null;
    "timeout": number | null;
    "auto_reschedule": number | null;
    "remove_delay": number | null;
    "remove_at": string | null;
    "progress": { [name: string]: unknown } | null;
    "cancel_requested": boolean;
    "created_at": string;
    "updated_at": string;
    "unreadable": string | null;
    "retried_by": Schemas["RetriedBy"] | null;
  };
  "FoundRunListPage": {
    "items": Schemas["FoundRun"][];
    "next": string | null;
  };
  "HandedRun": {
    "id": string;
    "token": number;
    "job": string;
    "handler": string;
    "input": { [name: string]: unknown };
    "attempt": number;
    "lease_until": string | null;
    "timeout": number | null;
    "cancel": string | null;
    "tenant": string;
    "queue": string;
    "target": string | null;
    "priority": number;
    "tag": string | null;
    "user_id": number | string;
    "schedule": string | null;
    "event": string | null;
    "scheduled_for": string;
    "created_at": string;
  };
  "HandedRuns": {
    "runs": Schemas["HandedRun"][];
  };
  "HeartbeatBody": {
    "holding"?: Schemas["HeldLease"][];
    "session"?: string | null;
    "lease"?: number | null;
    "metrics"?: { [name: string]: unknown } | null;
  };
  "HeldLease": {
    "id": string;
    "token": number;
  };
  "Invocation": {
    "id": string;
    "execution_id": string;
    "attempt_number": number;
    "started_at": string | null;
    "completed_at": string | null;
    "status": Schemas["InvocationStatus"];
    "error": string | null;
    "result": unknown;
    "created_at": string | null;
  };
  "InvocationListPage": {
    "items": Schemas["Invocation"][];
    "next": string | null;
  };
  "InvocationStatus": "running" | "success" | "failed";
  "JobBody": {
    "queue"?: string | null;
    "priority"?: number | null;
    "timeout"?: number | null;
    "target"?: string | null;
    "tag"?: string | null;
    "replace_tag"?: boolean | null;
    "user_id"?: number | string | null;
    "persistent"?: boolean | null;
    "auto_reschedule"?: number | null;
    "remove_delay"?: number | null;
    "expires"?: number | null;
    "input"?: { [name: string]: unknown } | null;
    "description"?: string | null;
    "enabled"?: boolean | null;
    "concurrency"?: number | null;
    "concurrency_key"?: string | null;
    "rate"?: string | null;
    "rate_key"?: string | null;
    "alert_url"?: string | null;
    "ping_url"?: string | null;
    "handler": string;
    "retry"?: Schemas["RetryBody"] | null;
  };
  "JobChange": {
    "queue"?: string | null;
    "priority"?: number | null;
    "timeout"?: number | null;
    "target"?: string | null;
    "tag"?: string | null;
    "replace_tag"?: boolean | null;
    "user_id"?: number | string | null;
    "persistent"?: boolean | null;
    "auto_reschedule"?: number | null;
    "remove_delay"?: number | null;
    "expires"?: number | null;
    "input"?: { [name: string]: unknown } | null;
    "description"?: string | null;
    "enabled"?: boolean | null;
    "concurrency"?: number | null;
    "concurrency_key"?: string | null;
    "rate"?: string | null;
    "rate_key"?: string | null;
    "alert_url"?: string | null;
    "ping_url"?: string | null;
    "handler"?: string;
    "retry"?: Schemas["RetryChangeBody"] | null;
  };
  "JobList": {
    "items": Schemas["JobShown"][];
    "next": string | null;
    "problems": Schemas["JobProblem"][];
  };
  "JobProblem": {
    "path": string;
    "line": number | null;
    "message": string;
  };
  "JobShown": {
    "queue": string;
    "priority": number | null;
    "timeout": number | null;
    "target": string | null;
    "tag": string | null;
    "replace_tag": boolean | null;
    "user_id": number | string | null;
    "persistent": boolean | null;
    "auto_reschedule": number | null;
    "remove_delay": number | null;
    "expires": number | null;
    "id": string | null;
    "name": string;
    "tenant": string;
    "source": string;
    "enabled": boolean;
    "version": number;
    "handler": string;
    "input": { [name: string]: unknown } | null;
    "unserved": string | null;
    "created_at": string | null;
    "updated_at": string | null;
    "file_path": string | null;
    "here": boolean;
    "description": string;
    "retry": Schemas["RetryShown"] | null;
    "concurrency": number | null;
    "concurrency_key": string | null;
    "rate": string | null;
    "rate_key": string | null;
    "processor": boolean;
    "paused": boolean;
    "schedule": string | null;
    "on": string[];
    "alert_url": string | null;
    "ping_url": string | null;
    "input_schema": { [name: string]: unknown } | null;
    "unreadable": string | null;
  };
  "KeyScope": "job" | "tenant";
  "LeaseShown": {
    "id": string;
    "token": number;
    "held": boolean;
    "lease_until": string | null;
    "cancel": string | null;
  };
  "LeasesShown": {
    "runs": Schemas["LeaseShown"][];
  };
  "LogLine": {
    "run": string;
    "attempt": number;
    "line": number;
    "at": string;
    "level": string;
    "message": string;
  };
  "LogLineListPage": {
    "items": Schemas["LogLine"][];
    "next": string | null;
  };
  "MadeEndpoint": {
    "id": string;
    "url": string;
    "description": string;
    "patterns": string[];
    "header_names": string[] | null;
    "secrets": Schemas["SecretShown"][];
    "sealed": boolean;
    "enabled": boolean;
    "disabled_reason": string | null;
    "disabled_at": string | null;
    "retry_config": Schemas["RetryConfigShown"] | null;
    "rate": string | null;
    "concurrency": number | null;
    "timeout": number | null;
    "failures_in_a_row": number;
    "failing_since": string | null;
    "last_success_at": string | null;
    "last_failure_at": string | null;
    "slowed": Schemas["SlowedShown"] | null;
    "tenant": string;
    "created_at": string;
    "updated_at": string;
    "unreadable": string | null;
    "secret": string | null;
  };
  "MadeRun": {
    "id": string;
    "status": Schemas["Status"];
  };
  "MadeRunItems": {
    "items": Schemas["MadeRun"][];
  };
  "MadeToken": {
    "id": string;
    "name": string;
    "tenant": string;
    "kind": Schemas["TokenKind"];
    "scopes": Schemas["Scope"][];
    "user_id": number | string | null;
    "agent": string | null;
    "created_by": string;
    "created_at": string;
    "expires_at": string | null;
    "revoked_at": string | null;
    "last_used_at": string | null;
    "valid": boolean;
    "unreadable": string | null;
    "token": string | null;
  };
  "MatchOutcome": "started" | "disabled" | "too_deep";
  "Matched": {
    "event": string;
    "kind": "trigger" | "endpoint" | null;
    "subscriber": string;
    "name": string | null;
    "outcome": Schemas["MatchOutcome"];
    "run": string | null;
    "reason": string | null;
    "created_at": string;
  };
  "MatchedListPage": {
    "items": Schemas["Matched"][];
    "next": string | null;
  };
  "NewEvents": {
    "events": Schemas["EventBody"][];
  };
  "NewNotification": {
    "user_id"?: number | string | null;
    "everybody"?: boolean;
    "data": unknown;
  };
  "NewPairing": {
    "name"?: string | null;
    "labels"?: string[];
    "expires"?: number;
  };
  "NewRuns": {
    "runs": Schemas["RunBody"][];
  };
  "NewTrigger": {
    "queue"?: string | null;
    "priority"?: number | null;
    "timeout"?: number | null;
    "target"?: string | null;
    "tag"?: string | null;
    "replace_tag"?: boolean | null;
    "user_id"?: number | string | null;
    "persistent"?: boolean | null;
    "auto_reschedule"?: number | null;
    "remove_delay"?: number | null;
    "expires"?: number | null;
    "name": string;
    "event_pattern": string;
    "processor_name": string;
    "description"?: string;
    "enabled"?: boolean;
    "retry_config"?: Schemas["RetryConfigBody"] | null;
  };
  "NotificationShown": {
    "id": string;
    "user_id": number | string | null;
    "data": unknown;
    "created_at": string;
    "read": boolean;
    "read_at": string | null;
    "unreadable": string | null;
  };
  "NotificationShownListPage": {
    "items": Schemas["NotificationShown"][];
    "next": string | null;
  };
  "OnDuplicate": "return" | "reject" | "replace";
  "Outside": "defer" | "skip";
  "Overlap": "skip" | "queue_one" | "allow" | "cancel_previous";
  "PairBody": {
    "token": string;
    "name"?: string | null;
    "labels"?: string[] | null;
    "host"?: string;
    "version"?: string;
  };
  "PairedShown": {
    "agent": Schemas["AgentShown"];
    "token": string;
  };
  "PairingShown": {
    "id": string;
    "token": string | null;
    "expires_at": string;
  };
  "Pause": {
    "tenant": string;
    "queue": string | null;
    "job": string | null;
    "since": string;
  };
  "PauseListPage": {
    "items": Schemas["Pause"][];
    "next": string | null;
  };
  "PausedJob": {
    "job": string;
    "paused_since": string;
  };
  "PollBody": {
    "wait"?: number;
    "jobs"?: string[] | null;
    "capacity"?: number;
    "session"?: string | null;
    "holding"?: Schemas["HeldLease"][];
    "lease"?: number | null;
  };
  "Problem": {
    "type": string;
    "title": string;
    "status": number;
    "detail": string;
    "errors"?: Schemas["FieldProblem"][] | null;
    "run_id"?: string | null;
  };
  "ProgressBody": {
    "token": number;
    "session"?: string | null;
    "done"?: number | null;
    "total"?: number | null;
    "message"?: string | null;
    "logs"?: Schemas["AgentLogLine"][];
  };
  "QueueBody": {
    "job"?: string | null;
  };
  "QueueScale": {
    "queued": number;
    "running": number;
    "due_seconds": number;
    "wanted": number;
  };
  "QueueState": {
    "name": string;
    "scheduled": number;
    "queued": number;
    "running": number;
    "oldest_wait_seconds": number;
    "capped": string[];
    "paused": boolean;
    "paused_since": string | null;
    "paused_jobs": Schemas["PausedJob"][];
  };
  "QueueStateListPage": {
    "items": Schemas["QueueState"][];
    "next": string | null;
  };
  "ReadAnswer": {
    "read": number;
  };
  "ReadBody": {
    "ids"?: string[] | null;
    "all"?: boolean;
  };
  "RecentRun": {
    "id": string;
    "status": "succeeded" | "failed" | "canceled";
    "started_at": string | null;
    "finished_at": string;
    "duration": number | null;
    "attempts": number;
  };
  "RecentRuns": {
    "job": string;
    "runs": Schemas["RecentRun"][];
    "count": number;
    "failed": number;
    "since": string | null;
    "p50": number | null;
    "p95": number | null;
    "longest": number | null;
  };
  "RecentRunsItems": {
    "items": Schemas["RecentRuns"][];
  };
  "ReloadOutcome": "loaded" | "changed" | "removed" | "failed";
  "ReloadShown": {
    "id": string;
    "at": string;
    "path": string;
    "outcome": Schemas["ReloadOutcome"];
    "message": string | null;
    "line": number | null;
    "jobs": string[];
    "standing": boolean;
  };
  "ReloadShownItems": {
    "items": Schemas["ReloadShown"][];
  };
  "ReplayBody": {
    "event"?: string | null;
    "since"?: string | null;
  };
  "ResultBody": {
    "status": Schemas["Ending"];
    "result"?: unknown;
    "error"?: string | null;
    "reason"?: string | null;
    "kinds"?: string[];
    "retry_after"?: number | null;
    "final"?: boolean;
    "token": number;
    "session"?: string | null;
  };
  "Resumed": {
    "ended": number;
  };
  "RetriedBy": {
    "id": string;
    "status": Schemas["Status"];
  };
  "RetryBody": {
    "attempts"?: number;
    "delay"?: number;
    "factor"?: number;
    "cap"?: number;
    "jitter"?: number;
    "give_up_on"?: string[];
    "only_on"?: string[];
  };
  "RetryChangeBody": {
    "attempts"?: number;
    "delay"?: number;
    "factor"?: number;
    "cap"?: number;
    "jitter"?: number;
    "give_up_on"?: string[];
    "only_on"?: string[];
  };
  "RetryConfigBody": {
    "max_attempts"?: number;
    "initial_delay_ms"?: number;
    "backoff_multiplier"?: number;
    "max_delay_ms"?: number;
  };
  "RetryConfigShown": {
    "max_attempts": number;
    "initial_delay_ms": number;
    "backoff_multiplier": number;
    "max_delay_ms": number;
  };
  "RetryShown": {
    "attempts": number;
    "delay": number;
    "factor": number;
    "cap": number;
    "jitter": number;
    "give_up_on": string[];
    "only_on": string[];
  };
  "RetryWords": {
    "max_retries"?: number;
    "backoff_ms"?: number;
    "backoff_type"?: string;
  };
  "Rewind": {
    "id": string;
    "noticed_at": string;
    "worker": string;
    "tenant": string;
    "run": string;
    "kind": Schemas["RewindKind"];
    "token": number;
    "detail": string;
  };
  "RewindKind": "lease" | "repeated" | "gone";
  "RewindListPage": {
    "items": Schemas["Rewind"][];
    "next": string | null;
  };
  "RotateBody": {
    "secret"?: string | null;
    "overlap"?: number;
  };
  "RunBody": {
    "job": string;
    "input"?: { [name: string]: unknown };
    "id"?: string | null;
    "run_at"?: string | null;
    "delay"?: number | null;
    "expires"?: number | string | null;
    "key"?: string | null;
    "key_scope"?: Schemas["KeyScope"] | null;
    "on_duplicate"?: Schemas["OnDuplicate"] | null;
    "key_for"?: number | null;
    "tag"?: string | null;
    "replace_tag"?: boolean | null;
    "priority"?: number | null;
    "queue"?: string | null;
    "user_id"?: number | string | null;
    "target"?: string | null;
    "retry"?: Schemas["RetryBody"] | null;
    "timeout"?: number | null;
    "persistent"?: boolean | null;
    "auto_reschedule"?: number | null;
    "remove_delay"?: number | null;
  };
  "RunShown": {
    "id": string;
    "status": Schemas["Status"];
    "job": string;
    "attempt": number;
    "failures": number;
    "losses": number;
    "scheduled_for": string;
    "started_at": string | null;
    "finished_at": string | null;
    "input": { [name: string]: unknown };
    "result": unknown;
    "error": string | null;
    "error_type": string | null;
    "reason": string | null;
    "queue": string;
    "priority": number;
    "tag": string | null;
    "key": string | null;
    "user_id": number | string;
    "tenant": string;
    "schedule": string | null;
    "event": string | null;
    "target": string | null;
    "parent": string | null;
    "retry_of": string | null;
    "rescheduled_from": string | null;
    "imported_id": string | null;
    "persistent": boolean;
    "expires_at": string | null;
    "timeout": number | null;
    "auto_reschedule": number | null;
    "remove_delay": number | null;
    "remove_at": string | null;
    "progress": { [name: string]: unknown } | null;
    "cancel_requested": boolean;
    "created_at": string;
    "updated_at": string;
    "unreadable": string | null;
  };
  "RunTaken": {
    "run": Schemas["HandedRun"] | null;
    "status": Schemas["Status"];
  };
  "Scale": {
    "queues": { [name: string]: Schemas["QueueScale"] };
    "total": Schemas["QueueScale"];
  };
  "ScheduleBody": {
    "queue"?: string | null;
    "priority"?: number | null;
    "timeout"?: number | null;
    "target"?: string | null;
    "tag"?: string | null;
    "replace_tag"?: boolean | null;
    "user_id"?: number | string | null;
    "persistent"?: boolean | null;
    "auto_reschedule"?: number | null;
    "remove_delay"?: number | null;
    "expires"?: number | null;
    "cron"?: string | null;
    "every"?: number | null;
    "anchor"?: string | null;
    "at"?: string | null;
    "kind"?: Schemas["ScheduleKind"] | null;
    "expression"?: string | null;
    "timezone"?: string | null;
    "input"?: { [name: string]: unknown } | null;
    "window"?: string[] | null;
    "outside"?: Schemas["Outside"] | null;
    "overlap"?: Schemas["Overlap"] | null;
    "catch_up"?: Schemas["CatchUp"] | null;
    "catch_up_cap"?: number | null;
    "jitter"?: number | null;
    "retry"?: Schemas["ScheduleRetryBody"] | null;
    "retry_policy"?: Schemas["RetryWords"] | null;
    "description"?: string | null;
    "created_by"?: string | null;
    "enabled"?: boolean | null;
    "alert_url"?: string | null;
    "ping_url"?: string | null;
    "job": string;
  };
  "ScheduleKind": "once" | "interval" | "cron";
  "ScheduleRetryBody": {
    "attempts"?: number;
    "delay"?: number;
    "factor"?: number;
    "cap"?: number;
    "jitter"?: number;
    "give_up_on"?: string[];
    "only_on"?: string[];
    "max_retries"?: number;
    "backoff_ms"?: number;
    "backoff_type"?: string;
  };
  "ScheduleShown": {
    "queue": string | null;
    "priority": number | null;
    "timeout": number | null;
    "target": string | null;
    "tag": string | null;
    "replace_tag": boolean | null;
    "user_id": number | string | null;
    "persistent": boolean | null;
    "auto_reschedule": number | null;
    "remove_delay": number | null;
    "expires": number | null;
    "id": string;
    "name": string;
    "tenant": string;
    "job": string;
    "kind": Schemas["ScheduleKind"];
    "expression": string;
    "in_words": string;
    "timezone": string;
    "enabled": boolean;
    "paused": boolean;
    "reason": string | null;
    "source": string;
    "input": { [name: string]: unknown };
    "next_run_at": string | null;
    "last_run_at": string | null;
    "last_run_id": string | null;
    "run_count": number;
    "failure_count": number;
    "last_fire_status": Schemas["FireStatus"] | null;
    "last_fire_at": string | null;
    "last_run_status": string | null;
    "last_status": string | null;
    "last_error": string | null;
    "broken": boolean;
    "last_scheduled_at": string | null;
    "created_at": string;
    "updated_at": string;
    "retry": Schemas["RetryShown"] | null;
    "retry_policy": Schemas["RetryWords"] | null;
    "window": string[] | null;
    "outside": Schemas["Outside"];
    "overlap": Schemas["Overlap"];
    "catch_up": Schemas["CatchUp"];
    "catch_up_cap": number;
    "jitter": number;
    "description": string;
    "created_by": string;
    "alert_url": string | null;
    "ping_url": string | null;
  };
  "ScheduleShownListPage": {
    "items": Schemas["ScheduleShown"][];
    "next": string | null;
  };
  "ScheduleUpdateBody": {
    "queue"?: string | null;
    "priority"?: number | null;
    "timeout"?: number | null;
    "target"?: string | null;
    "tag"?: string | null;
    "replace_tag"?: boolean | null;
    "user_id"?: number | string | null;
    "persistent"?: boolean | null;
    "auto_reschedule"?: number | null;
    "remove_delay"?: number | null;
    "expires"?: number | null;
    "cron"?: string | null;
    "every"?: number | null;
    "anchor"?: string | null;
    "at"?: string | null;
    "kind"?: Schemas["ScheduleKind"] | null;
    "expression"?: string | null;
    "timezone"?: string | null;
    "input"?: { [name: string]: unknown } | null;
    "window"?: string[] | null;
    "outside"?: Schemas["Outside"] | null;
    "overlap"?: Schemas["Overlap"] | null;
    "catch_up"?: Schemas["CatchUp"] | null;
    "catch_up_cap"?: number | null;
    "jitter"?: number | null;
    "retry"?: Schemas["ScheduleRetryBody"] | null;
    "retry_policy"?: Schemas["RetryWords"] | null;
    "description"?: string | null;
    "created_by"?: string | null;
    "enabled"?: boolean | null;
    "alert_url"?: string | null;
    "ping_url"?: string | null;
    "job"?: string;
  };
  "Scope": "read" | "enqueue" | "operate" | "admin" | "agent" | "dispatch" | "consume";
  "SecretShown": {
    "created_at": string;
    "valid_until": string | null;
  };
  "SelfShown": {
    "actor": string;
    "tenant": string;
    "may": Schemas["Scope"][];
    "user_id": number | string | null;
    "agent": string | null;
    "token": Schemas["TokenShown"] | null;
  };
  "SlowedShown": {
    "since": string;
    "waiting": number;
    "capped": boolean;
  };
  "Status": "scheduled" | "queued" | "running" | "succeeded" | "failed" | "canceled";
  "StoredFile": {
    "id": string;
    "filename": string;
    "content_type": string;
    "size": number;
    "created_at": string;
  };
  "StoredFileListPage": {
    "items": Schemas["StoredFile"][];
    "next": string | null;
  };
  "TakeBody": {
    "session"?: string | null;
    "lease"?: number | null;
  };
  "TakenShown": {
    "taken": boolean;
  };
  "TallyChart": {
    "since": string;
    "until": string;
    "step": number;
    "items": Schemas["EndsOfStep"][];
    "jobs": Schemas["EndsOfJob"][];
  };
  "TenantBody": {
    "weight"?: number;
    "concurrency"?: number | null;
    "rate"?: string | null;
    "description"?: string;
  };
  "TenantShown": {
    "name": string;
    "description": string;
    "weight": number;
    "concurrency": number | null;
    "rate": string | null;
    "created_at": string | null;
    "updated_at": string | null;
    "unreadable": string | null;
  };
  "TenantShownListPage": {
    "items": Schemas["TenantShown"][];
    "next": string | null;
  };
  "Tick": {
    "schedule": string;
    "due": string;
    "outcome": Schemas["TickOutcome"];
    "created_at": string;
    "until": string | null;
    "count": number;
    "run": string | null;
    "reason": string | null;
  };
  "TickListPage": {
    "items": Schemas["Tick"][];
    "next": string | null;
  };
  "TickOutcome": "fired" | "skipped" | "coalesced" | "deferred";
  "TicketShown": {
    "ticket": string;
    "expires_at": string;
  };
  "TokenBody": {
    "name"?: string;
    "scopes"?: Schemas["Scope"][];
    "user_id"?: number | string | null;
    "expires"?: number | string | null;
    "every_tenant"?: boolean;
  };
  "TokenKind": "api" | "session" | "login" | "ticket" | "pairing" | "agent";
  "TokenShown": {
    "id": string;
    "name": string;
    "tenant": string;
    "kind": Schemas["TokenKind"];
    "scopes": Schemas["Scope"][];
    "user_id": number | string | null;
    "agent": string | null;
    "created_by": string;
    "created_at": string;
    "expires_at": string | null;
    "revoked_at": string | null;
    "last_used_at": string | null;
    "valid": boolean;
    "unreadable": string | null;
  };
  "TokenShownListPage": {
    "items": Schemas["TokenShown"][];
    "next": string | null;
  };
  "TriedTiming": {
    "timezone": string;
    "items": string[];
    "local": string[];
    "notes": (string | null)[];
    "in_words": string;
  };
  "TriggerChange": {
    "queue"?: string | null;
    "priority"?: number | null;
    "timeout"?: number | null;
    "target"?: string | null;
    "tag"?: string | null;
    "replace_tag"?: boolean | null;
    "user_id"?: number | string | null;
    "persistent"?: boolean | null;
    "auto_reschedule"?: number | null;
    "remove_delay"?: number | null;
    "expires"?: number | null;
    "name"?: string | null;
    "event_pattern"?: string | null;
    "processor_name"?: string | null;
    "description"?: string | null;
    "enabled"?: boolean | null;
    "retry_config"?: Schemas["RetryConfigBody"] | null;
  };
  "TriggerShown": {
    "queue": string | null;
    "priority": number | null;
    "timeout": number | null;
    "target": string | null;
    "tag": string | null;
    "replace_tag": boolean | null;
    "user_id": number | string | null;
    "persistent": boolean | null;
    "auto_reschedule": number | null;
    "remove_delay": number | null;
    "expires": number | null;
    "id": string;
    "name": string;
    "description": string;
    "event_pattern": string;
    "processor_name": string;
    "enabled": boolean;
    "retry_config": Schemas["RetryConfigShown"] | null;
    "source": string;
    "tenant": string;
    "created_at": string;
    "updated_at": string;
    "unreadable": string | null;
  };
  "TriggerShownListPage": {
    "items": Schemas["TriggerShown"][];
    "next": string | null;
  };
  "UpcomingTick": {
    "schedule": string;
    "job": string;
    "due": string;
    "timezone": string;
    "in_words": string;
  };
  "UpcomingTickItems": {
    "items": Schemas["UpcomingTick"][];
  };
  "UpcomingTicks": {
    "timezone": string;
    "items": string[];
    "local": string[];
    "notes": (string | null)[];
  };
  "WhyShown": {
    "run": string;
    "status": Schemas["Status"];
    "why": string;
  };
  "WorkerShown": {
    "id": string;
    "host": string;
    "pid": number;
    "incarnation": string;
    "version": string;
    "queues": string[] | null;
    "jobs": string[];
    "concurrency": number;
    "started_at": string;
    "seen_at": string;
    "stopping": boolean;
    "drained_at": string | null;
    "drain_seen_at": string | null;
    "unreadable": string | null;
    "alive": boolean;
    "busy": number;
    "runs": Schemas["RunShown"][];
  };
  "WorkerShownListPage": {
    "items": Schemas["WorkerShown"][];
    "next": string | null;
  };
}

/** `answer` is null where there is no content; `query` has the names of the parameters. */
export interface Operations {
  "GET /api/v1/runs": { answer: Schemas["FoundRunListPage"]; body: undefined; query: "status" | "job" | "queue" | "tag" | "schedule" | "user_id" | "target" | "event" | "retry_of" | "retried" | "since" | "until" | "before" | "limit" | "tenant" };
  "POST /api/v1/runs": { answer: Schemas["MadeRun"]; body: Schemas["RunBody"]; query: "full" | "tenant" };
  "POST /api/v1/runs/batch": { answer: Schemas["MadeRunItems"]; body: Schemas["NewRuns"]; query: "full" | "tenant" };
  "GET /api/v1/runs/{run_id}": { answer: Schemas["FoundRun"]; body: undefined; query: "wait" | "tenant" };
  "GET /api/v1/runs/{run_id}/attempts": { answer: Schemas["AttemptShownListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/runs/{run_id}/logs": { answer: Schemas["LogLineListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/runs/{run_id}/why": { answer: Schemas["WhyShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/runs/{run_id}/cancel": { answer: Schemas["RunShown"]; body: Schemas["CancelBody"]; query: "tenant" };
  "POST /api/v1/runs/{run_id}/retry": { answer: Schemas["RunShown"]; body: undefined; query: "tenant" };
  "GET /api/v1/runs/{run_id}/stream": { answer: unknown; body: undefined; query: "tenant" };
  "GET /api/v1/runs/count": { answer: Schemas["Counted"]; body: undefined; query: "status" | "job" | "queue" | "tag" | "schedule" | "user_id" | "target" | "event" | "retry_of" | "retried" | "since" | "until" | "tenant" };
  "POST /api/v1/bulk": { answer: Schemas["RunShown"]; body: Schemas["BulkBody"]; query: "tenant" };
  "GET /api/v1/events": { answer: Schemas["EventShownListPage"]; body: undefined; query: "type" | "before" | "limit" | "tenant" };
  "POST /api/v1/events": { answer: Schemas["EventShown"]; body: Schemas["EventBody"]; query: "tenant" };
  "POST /api/v1/events/batch": { answer: Schemas["EventShownItems"]; body: Schemas["NewEvents"]; query: "tenant" };
  "GET /api/v1/events/match": { answer: Schemas["EventSubscribers"]; body: undefined; query: "type" | "system" | "pattern" | "tenant" };
  "GET /api/v1/events/counts": { answer: Schemas["EventCountItems"]; body: undefined; query: "event" | "tenant" };
  "GET /api/v1/events/{event_id}": { answer: Schemas["EventShown"]; body: undefined; query: "tenant" };
  "GET /api/v1/events/{event_id}/matches": { answer: Schemas["MatchedListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/jobs": { answer: Schemas["JobList"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/reloads": { answer: Schemas["ReloadShownItems"]; body: undefined; query: "limit" | "tenant" };
  "GET /api/v1/jobs/{name}": { answer: Schemas["JobShown"]; body: undefined; query: "tenant" };
  "PUT /api/v1/jobs/{name}": { answer: Schemas["JobShown"]; body: Schemas["JobBody"]; query: "tenant" };
  "PATCH /api/v1/jobs/{name}": { answer: Schemas["JobShown"]; body: Schemas["JobChange"]; query: "tenant" };
  "DELETE /api/v1/jobs/{name}": { answer: null; body: undefined; query: "tenant" };
  "POST /api/v1/jobs/{name}/enable": { answer: Schemas["JobShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/jobs/{name}/disable": { answer: Schemas["JobShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/jobs/{name}/pause": { answer: Schemas["Pause"]; body: undefined; query: "tenant" };
  "POST /api/v1/jobs/{name}/resume": { answer: Schemas["Resumed"]; body: undefined; query: "tenant" };
  "GET /api/v1/schedules": { answer: Schemas["ScheduleShownListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/schedules/{name}": { answer: Schemas["ScheduleShown"]; body: undefined; query: "tenant" };
  "PUT /api/v1/schedules/{name}": { answer: Schemas["ScheduleShown"]; body: Schemas["ScheduleBody"]; query: "tenant" };
  "PATCH /api/v1/schedules/{name}": { answer: Schemas["ScheduleShown"]; body: Schemas["ScheduleUpdateBody"]; query: "tenant" };
  "DELETE /api/v1/schedules/{name}": { answer: null; body: undefined; query: "tenant" };
  "POST /api/v1/schedules/{name}/pause": { answer: Schemas["ScheduleShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/schedules/{name}/resume": { answer: Schemas["ScheduleShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/schedules/{name}/run": { answer: Schemas["RunShown"]; body: undefined; query: "tenant" };
  "GET /api/v1/schedules/{name}/preview": { answer: Schemas["UpcomingTicks"]; body: undefined; query: "n" | "after" | "tenant" };
  "GET /api/v1/schedules/{name}/ticks": { answer: Schemas["TickListPage"]; body: undefined; query: "before" | "limit" | "tenant" };
  "POST /api/v1/cron/preview": { answer: Schemas["TriedTiming"]; body: Schemas["CronAsked"]; query: "tenant" };
  "POST /api/v1/agents/self/poll": { answer: Schemas["HandedRuns"]; body: Schemas["PollBody"]; query: "tenant" };
  "POST /api/v1/agents/self/runs/{run_id}/take": { answer: Schemas["RunTaken"]; body: Schemas["TakeBody"]; query: "tenant" };
  "POST /api/v1/agents/self/heartbeat": { answer: Schemas["LeasesShown"]; body: Schemas["HeartbeatBody"]; query: "tenant" };
  "POST /api/v1/agents/self/runs/{run_id}/progress": { answer: Schemas["TakenShown"]; body: Schemas["ProgressBody"]; query: "tenant" };
  "POST /api/v1/agents/self/runs/{run_id}/result": { answer: Schemas["TakenShown"]; body: Schemas["ResultBody"]; query: "tenant" };
  "GET /api/v1/agents/self": { answer: Schemas["AgentShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/agents/pair": { answer: Schemas["PairedShown"]; body: Schemas["PairBody"]; query: never };
  "POST /api/v1/agents/pairings": { answer: Schemas["PairingShown"]; body: Schemas["NewPairing"]; query: "tenant" };
  "GET /api/v1/agents": { answer: Schemas["AgentShownListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/agents/{name}": { answer: Schemas["AgentShown"]; body: undefined; query: "tenant" };
  "PATCH /api/v1/agents/{name}": { answer: Schemas["AgentShown"]; body: Schemas["AgentChange"]; query: "tenant" };
  "DELETE /api/v1/agents/{name}": { answer: null; body: undefined; query: "tenant" };
  "GET /api/v1/tokens": { answer: Schemas["TokenShownListPage"]; body: undefined; query: "all" | "after" | "limit" | "tenant" };
  "POST /api/v1/tokens": { answer: Schemas["MadeToken"]; body: Schemas["TokenBody"]; query: "tenant" };
  "GET /api/v1/tokens/self": { answer: Schemas["SelfShown"]; body: undefined; query: "tenant" };
  "GET /api/v1/tokens/{token_id}": { answer: Schemas["TokenShown"]; body: undefined; query: "tenant" };
  "DELETE /api/v1/tokens/{token_id}": { answer: Schemas["TokenShown"]; body: undefined; query: "tenant" };
  "GET /api/v1/tenants": { answer: Schemas["TenantShownListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/tenants/{name}": { answer: Schemas["TenantShown"]; body: undefined; query: "tenant" };
  "PUT /api/v1/tenants/{name}": { answer: Schemas["TenantShown"]; body: Schemas["TenantBody"]; query: "tenant" };
  "DELETE /api/v1/tenants/{name}": { answer: null; body: undefined; query: "tenant" };
  "GET /api/v1/audit": { answer: Schemas["AuditShownListPage"]; body: undefined; query: "every_tenant" | "before" | "limit" | "tenant" };
  "GET /api/v1/notifications": { answer: Schemas["NotificationShownListPage"]; body: undefined; query: "unread" | "before" | "limit" | "tenant" };
  "POST /api/v1/notifications": { answer: Schemas["NotificationShown"]; body: Schemas["NewNotification"]; query: "tenant" };
  "POST /api/v1/notifications/read": { answer: Schemas["ReadAnswer"]; body: Schemas["ReadBody"]; query: "tenant" };
  "DELETE /api/v1/session": { answer: null; body: undefined; query: "tenant" };
  "POST /api/v1/sockets/tickets": { answer: Schemas["TicketShown"]; body: undefined; query: "tenant" };
  "GET /api/v1/triggers": { answer: Schemas["TriggerShownListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "POST /api/v1/triggers": { answer: Schemas["TriggerShown"]; body: Schemas["NewTrigger"]; query: "tenant" };
  "GET /api/v1/triggers/{name_or_id}": { answer: Schemas["TriggerShown"]; body: undefined; query: "tenant" };
  "PATCH /api/v1/triggers/{name_or_id}": { answer: Schemas["TriggerShown"]; body: Schemas["TriggerChange"]; query: "tenant" };
  "DELETE /api/v1/triggers/{name_or_id}": { answer: null; body: undefined; query: "tenant" };
  "GET /api/v1/triggers/{name_or_id}/matches": { answer: Schemas["MatchedListPage"]; body: undefined; query: "before" | "limit" | "tenant" };
  "POST /api/v1/triggers/{name_or_id}/enable": { answer: Schemas["TriggerShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/triggers/{name_or_id}/disable": { answer: Schemas["TriggerShown"]; body: undefined; query: "tenant" };
  "GET /api/v1/executions": { answer: Schemas["ExecutionListPage"]; body: undefined; query: "trigger" | "event" | "status" | "before" | "limit" | "tenant" };
  "GET /api/v1/executions/{execution_id}": { answer: Schemas["Execution"]; body: undefined; query: "tenant" };
  "GET /api/v1/executions/{execution_id}/invocations": { answer: Schemas["InvocationListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/webhooks": { answer: Schemas["EndpointShownListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "POST /api/v1/webhooks": { answer: Schemas["MadeEndpoint"]; body: Schemas["EndpointBody"]; query: "tenant" };
  "GET /api/v1/webhooks/{endpoint_id}": { answer: Schemas["EndpointShown"]; body: undefined; query: "tenant" };
  "PATCH /api/v1/webhooks/{endpoint_id}": { answer: Schemas["EndpointShown"]; body: Schemas["EndpointChange"]; query: "tenant" };
  "DELETE /api/v1/webhooks/{endpoint_id}": { answer: null; body: undefined; query: "tenant" };
  "POST /api/v1/webhooks/{endpoint_id}/enable": { answer: Schemas["EndpointShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/webhooks/{endpoint_id}/disable": { answer: Schemas["EndpointShown"]; body: Schemas["DisableBody"]; query: "tenant" };
  "POST /api/v1/webhooks/{endpoint_id}/rotate": { answer: Schemas["MadeEndpoint"]; body: Schemas["RotateBody"]; query: "tenant" };
  "POST /api/v1/webhooks/{endpoint_id}/test": { answer: Schemas["Delivery"]; body: undefined; query: "tenant" };
  "POST /api/v1/webhooks/{endpoint_id}/replay": { answer: Schemas["DeliveryItems"]; body: Schemas["ReplayBody"]; query: "tenant" };
  "GET /api/v1/webhooks/{endpoint_id}/deliveries": { answer: Schemas["DeliveryListPage"]; body: undefined; query: "status" | "before" | "limit" | "tenant" };
  "GET /api/v1/webhooks/deliveries/{delivery_id}/attempts": { answer: Schemas["AttemptShownListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/queues": { answer: Schemas["QueueStateListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/scale": { answer: Schemas["Scale"]; body: undefined; query: "queue" | "tenant" };
  "POST /api/v1/queues/{name}/pause": { answer: Schemas["Pause"]; body: Schemas["QueueBody"]; query: "tenant" };
  "POST /api/v1/queues/{name}/resume": { answer: Schemas["Resumed"]; body: Schemas["QueueBody"]; query: "tenant" };
  "GET /api/v1/pauses": { answer: Schemas["PauseListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "GET /api/v1/workers": { answer: Schemas["WorkerShownListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "POST /api/v1/workers/{worker_id}/drain": { answer: Schemas["WorkerShown"]; body: undefined; query: "tenant" };
  "POST /api/v1/workers/{worker_id}/resume": { answer: Schemas["WorkerShown"]; body: undefined; query: "tenant" };
  "GET /api/v1/rewinds": { answer: Schemas["RewindListPage"]; body: undefined; query: "before" | "limit" | "tenant" };
  "POST /api/v1/dispatch": { answer: Schemas["Dispatched"]; body: Schemas["DispatchBody"]; query: "tenant" };
  "POST /api/v1/consume": { answer: Schemas["Consumed"]; body: Schemas["ConsumeBody"]; query: "tenant" };
  "GET /api/v1/files": { answer: Schemas["StoredFileListPage"]; body: undefined; query: "after" | "limit" | "tenant" };
  "POST /api/v1/files": { answer: Schemas["StoredFile"]; body: unknown; query: "filename" | "tenant" };
  "GET /api/v1/files/{file_id}": { answer: Schemas["StoredFile"]; body: undefined; query: "tenant" };
  "DELETE /api/v1/files/{file_id}": { answer: null; body: undefined; query: "tenant" };
  "GET /api/v1/files/{file_id}/content": { answer: unknown; body: undefined; query: "tenant" };
  "GET /api/v1/tallies": { answer: Schemas["TallyChart"]; body: undefined; query: "minutes" | "job" | "queue" | "tenant" };
  "GET /api/v1/recent": { answer: Schemas["RecentRunsItems"]; body: undefined; query: "job" | "limit" | "tenant" };
  "GET /api/v1/upcoming": { answer: Schemas["UpcomingTickItems"]; body: undefined; query: "limit" | "tenant" };
  "GET /api/v1/doctor": { answer: Schemas["Findings"]; body: undefined; query: "tenant" };
}

/** The operation of a method and an address, in which any text may stand for a parameter. */
export type Operation<Asked extends string> =
  Asked extends `POST /api/v1/agents/self/runs/${string}/progress` ? Operations["POST /api/v1/agents/self/runs/{run_id}/progress"] :
  Asked extends `POST /api/v1/agents/self/runs/${string}/result` ? Operations["POST /api/v1/agents/self/runs/{run_id}/result"] :
  Asked extends `POST /api/v1/agents/self/runs/${string}/take` ? Operations["POST /api/v1/agents/self/runs/{run_id}/take"] :
  Asked extends `GET /api/v1/webhooks/deliveries/${string}/attempts` ? Operations["GET /api/v1/webhooks/deliveries/{delivery_id}/attempts"] :
  Asked extends `POST /api/v1/agents/self/heartbeat` ? Operations["POST /api/v1/agents/self/heartbeat"] :
  Asked extends `POST /api/v1/agents/self/poll` ? Operations["POST /api/v1/agents/self/poll"] :
  Asked extends `GET /api/v1/events/${string}/matches` ? Operations["GET /api/v1/events/{event_id}/matches"] :
  Asked extends `GET /api/v1/executions/${string}/invocations` ? Operations["GET /api/v1/executions/{execution_id}/invocations"] :
  Asked extends `GET /api/v1/files/${string}/content` ? Operations["GET /api/v1/files/{file_id}/content"] :
  Asked extends `GET /api/v1/runs/${string}/attempts` ? Operations["GET /api/v1/runs/{run_id}/attempts"] :
  Asked extends `GET /api/v1/runs/${string}/logs` ? Operations["GET /api/v1/runs/{run_id}/logs"] :
  Asked extends `GET /api/v1/runs/${string}/stream` ? Operations["GET /api/v1/runs/{run_id}/stream"] :
  Asked extends `GET /api/v1/runs/${string}/why` ? Operations["GET /api/v1/runs/{run_id}/why"] :
  Asked extends `GET /api/v1/schedules/${string}/preview` ? Operations["GET /api/v1/schedules/{name}/preview"] :
  Asked extends `GET /api/v1/schedules/${string}/ticks` ? Operations["GET /api/v1/schedules/{name}/ticks"] :
  Asked extends `GET /api/v1/triggers/${string}/matches` ? Operations["GET /api/v1/triggers/{name_or_id}/matches"] :
  Asked extends `GET /api/v1/webhooks/${string}/deliveries` ? Operations["GET /api/v1/webhooks/{endpoint_id}/deliveries"] :
  Asked extends `POST /api/v1/jobs/${string}/disable` ? Operations["POST /api/v1/jobs/{name}/disable"] :
  Asked extends `POST /api/v1/jobs/${string}/enable` ? Operations["POST /api/v1/jobs/{name}/enable"] :
  Asked extends `POST /api/v1/jobs/${string}/pause` ? Operations["POST /api/v1/jobs/{name}/pause"] :
  Asked extends `POST /api/v1/jobs/${string}/resume` ? Operations["POST /api/v1/jobs/{name}/resume"] :
  Asked extends `POST /api/v1/queues/${string}/pause` ? Operations["POST /api/v1/queues/{name}/pause"] :
  Asked extends `POST /api/v1/queues/${string}/resume` ? Operations["POST /api/v1/queues/{name}/resume"] :
  Asked extends `POST /api/v1/runs/${string}/cancel` ? Operations["POST /api/v1/runs/{run_id}/cancel"] :
  Asked extends `POST /api/v1/runs/${string}/retry` ? Operations["POST /api/v1/runs/{run_id}/retry"] :
  Asked extends `POST /api/v1/schedules/${string}/pause` ? Operations["POST /api/v1/schedules/{name}/pause"] :
  Asked extends `POST /api/v1/schedules/${string}/resume` ? Operations["POST /api/v1/schedules/{name}/resume"] :
  Asked extends `POST /api/v1/schedules/${string}/run` ? Operations["POST /api/v1/schedules/{name}/run"] :
  Asked extends `POST /api/v1/triggers/${string}/disable` ? Operations["POST /api/v1/triggers/{name_or_id}/disable"] :
  Asked extends `POST /api/v1/triggers/${string}/enable` ? Operations["POST /api/v1/triggers/{name_or_id}/enable"] :
  Asked extends `POST /api/v1/webhooks/${string}/disable` ? Operations["POST /api/v1/webhooks/{endpoint_id}/disable"] :
  Asked extends `POST /api/v1/webhooks/${string}/enable` ? Operations["POST /api/v1/webhooks/{endpoint_id}/enable"] :
  Asked extends `POST /api/v1/webhooks/${string}/replay` ? Operations["POST /api/v1/webhooks/{endpoint_id}/replay"] :
  Asked extends `POST /api/v1/webhooks/${string}/rotate` ? Operations["POST /api/v1/webhooks/{endpoint_id}/rotate"] :
  Asked extends `POST /api/v1/webhooks/${string}/test` ? Operations["POST /api/v1/webhooks/{endpoint_id}/test"] :
  Asked extends `POST /api/v1/workers/${string}/drain` ? Operations["POST /api/v1/workers/{worker_id}/drain"] :
  Asked extends `POST /api/v1/workers/${string}/resume` ? Operations["POST /api/v1/workers/{worker_id}/resume"] :
  Asked extends `GET /api/v1/agents/self` ? Operations["GET /api/v1/agents/self"] :
  Asked extends `GET /api/v1/events/counts` ? Operations["GET /api/v1/events/counts"] :
  Asked extends `GET /api/v1/events/match` ? Operations["GET /api/v1/events/match"] :
  Asked extends `GET /api/v1/runs/count` ? Operations["GET /api/v1/runs/count"] :
  Asked extends `GET /api/v1/tokens/self` ? Operations["GET /api/v1/tokens/self"] :
  Asked extends `POST /api/v1/agents/pair` ? Operations["POST /api/v1/agents/pair"] :
  Asked extends `POST /api/v1/agents/pairings` ? Operations["POST /api/v1/agents/pairings"] :
  Asked extends `POST /api/v1/cron/preview` ? Operations["POST /api/v1/cron/preview"] :
  Asked extends `POST /api/v1/events/batch` ? Operations["POST /api/v1/events/batch"] :
  Asked extends `POST /api/v1/notifications/read` ? Operations["POST /api/v1/notifications/read"] :
  Asked extends `POST /api/v1/runs/batch` ? Operations["POST /api/v1/runs/batch"] :
  Asked extends `POST /api/v1/sockets/tickets` ? Operations["POST /api/v1/sockets/tickets"] :
  Asked extends `DELETE /api/v1/agents/${string}` ? Operations["DELETE /api/v1/agents/{name}"] :
  Asked extends `DELETE /api/v1/files/${string}` ? Operations["DELETE /api/v1/files/{file_id}"] :
  Asked extends `DELETE /api/v1/jobs/${string}` ? Operations["DELETE /api/v1/jobs/{name}"] :
  Asked extends `DELETE /api/v1/schedules/${string}` ? Operations["DELETE /api/v1/schedules/{name}"] :
  Asked extends `DELETE /api/v1/tenants/${string}` ? Operations["DELETE /api/v1/tenants/{name}"] :
  Asked extends `DELETE /api/v1/tokens/${string}` ? Operations["DELETE /api/v1/tokens/{token_id}"] :
  Asked extends `DELETE /api/v1/triggers/${string}` ? Operations["DELETE /api/v1/triggers/{name_or_id}"] :
  Asked extends `DELETE /api/v1/webhooks/${string}` ? Operations["DELETE /api/v1/webhooks/{endpoint_id}"] :
  Asked extends `GET /api/v1/agents/${string}` ? Operations["GET /api/v1/agents/{name}"] :
  Asked extends `GET /api/v1/events/${string}` ? Operations["GET /api/v1/events/{event_id}"] :
  Asked extends `GET /api/v1/executions/${string}` ? Operations["GET /api/v1/executions/{execution_id}"] :
  Asked extends `GET /api/v1/files/${string}` ? Operations["GET /api/v1/files/{file_id}"] :
  Asked extends `GET /api/v1/jobs/${string}` ? Operations["GET /api/v1/jobs/{name}"] :
  Asked extends `GET /api/v1/runs/${string}` ? Operations["GET /api/v1/runs/{run_id}"] :
  Asked extends `GET /api/v1/schedules/${string}` ? Operations["GET /api/v1/schedules/{name}"] :
  Asked extends `GET /api/v1/tenants/${string}` ? Operations["GET /api/v1/tenants/{name}"] :
  Asked extends `GET /api/v1/tokens/${string}` ? Operations["GET /api/v1/tokens/{token_id}"] :
  Asked extends `GET /api/v1/triggers/${string}` ? Operations["GET /api/v1/triggers/{name_or_id}"] :
  Asked extends `GET /api/v1/webhooks/${string}` ? Operations["GET /api/v1/webhooks/{endpoint_id}"] :
  Asked extends `PATCH /api/v1/agents/${string}` ? Operations["PATCH /api/v1/agents/{name}"] :
  Asked extends `PATCH /api/v1/jobs/${string}` ? Operations["PATCH /api/v1/jobs/{name}"] :
  Asked extends `PATCH /api/v1/schedules/${string}` ? Operations["PATCH /api/v1/schedules/{name}"] :
  Asked extends `PATCH /api/v1/triggers/${string}` ? Operations["PATCH /api/v1/triggers/{name_or_id}"] :
  Asked extends `PATCH /api/v1/webhooks/${string}` ? Operations["PATCH /api/v1/webhooks/{endpoint_id}"] :
  Asked extends `PUT /api/v1/jobs/${string}` ? Operations["PUT /api/v1/jobs/{name}"] :
  Asked extends `PUT /api/v1/schedules/${string}` ? Operations["PUT /api/v1/schedules/{name}"] :
  Asked extends `PUT /api/v1/tenants/${string}` ? Operations["PUT /api/v1/tenants/{name}"] :
  Asked extends `DELETE /api/v1/session` ? Operations["DELETE /api/v1/session"] :
  Asked extends `GET /api/v1/agents` ? Operations["GET /api/v1/agents"] :
  Asked extends `GET /api/v1/audit` ? Operations["GET /api/v1/audit"] :
  Asked extends `GET /api/v1/doctor` ? Operations["GET /api/v1/doctor"] :
  Asked extends `GET /api/v1/events` ? Operations["GET /api/v1/events"] :
  Asked extends `GET /api/v1/executions` ? Operations["GET /api/v1/executions"] :
  Asked extends `GET /api/v1/files` ? Operations["GET /api/v1/files"] :
  Asked extends `GET /api/v1/jobs` ? Operations["GET /api/v1/jobs"] :
  Asked extends `GET /api/v1/notifications` ? Operations["GET /api/v1/notifications"] :
  Asked extends `GET /api/v1/pauses` ? Operations["GET /api/v1/pauses"] :
  Asked extends `GET /api/v1/queues` ? Operations["GET /api/v1/queues"] :
  Asked extends `GET /api/v1/recent` ? Operations["GET /api/v1/recent"] :
  Asked extends `GET /api/v1/reloads` ? Operations["GET /api/v1/reloads"] :
  Asked extends `GET /api/v1/rewinds` ? Operations["GET /api/v1/rewinds"] :
  Asked extends `GET /api/v1/runs` ? Operations["GET /api/v1/runs"] :
  Asked extends `GET /api/v1/scale` ? Operations["GET /api/v1/scale"] :
  Asked extends `GET /api/v1/schedules` ? Operations["GET /api/v1/schedules"] :
  Asked extends `GET /api/v1/tallies` ? Operations["GET /api/v1/tallies"] :
  Asked extends `GET /api/v1/tenants` ? Operations["GET /api/v1/tenants"] :
  Asked extends `GET /api/v1/tokens` ? Operations["GET /api/v1/tokens"] :
  Asked extends `GET /api/v1/triggers` ? Operations["GET /api/v1/triggers"] :
  Asked extends `GET /api/v1/upcoming` ? Operations["GET /api/v1/upcoming"] :
  Asked extends `GET /api/v1/webhooks` ? Operations["GET /api/v1/webhooks"] :
  Asked extends `GET /api/v1/workers` ? Operations["GET /api/v1/workers"] :
  Asked extends `POST /api/v1/bulk` ? Operations["POST /api/v1/bulk"] :
  Asked extends `POST /api/v1/consume` ? Operations["POST /api/v1/consume"] :
  Asked extends `POST /api/v1/dispatch` ? Operations["POST /api/v1/dispatch"] :
  Asked extends `POST /api/v1/events` ? Operations["POST /api/v1/events"] :
  Asked extends `POST /api/v1/files` ? Operations["POST /api/v1/files"] :
  Asked extends `POST /api/v1/notifications` ? Operations["POST /api/v1/notifications"] :
  Asked extends `POST /api/v1/runs` ? Operations["POST /api/v1/runs"] :
  Asked extends `POST /api/v1/tokens` ? Operations["POST /api/v1/tokens"] :
  Asked extends `POST /api/v1/triggers` ? Operations["POST /api/v1/triggers"] :
  Asked extends `POST /api/v1/webhooks` ? Operations["POST /api/v1/webhooks"] :
  never;
