"""Tests of `django-tasks-db` that are left out, with the reason; docs/how-to/django.md has the same table."""

from __future__ import annotations

MODEL = "about its model and its rows; runs are not a Django model"
COMMAND = "about its command `db_worker`; ours is `manage.py workbell worker`"
QUEUES = "chooses queues of `db_worker`; ours is `manage.py workbell worker --queues`"
NAMES = "paths that come from the database are never imported: an unknown task waits, visibly"

# Tests of the two classes that run against Workbell.
_BACKEND = {
    MODEL: "index_scan_for_ready priority_range_check run_after_null_0016_migration run_after_tz task_name",
    NAMES: "invalid_task_path missing_task_path",
    "expects its own app in the hint; ours names ours": "database_backend_app_missing",
    "about its option `id_function`": (
        "custom_id_function unknown_id_function postgres_db_id_function postgres_id_function_expression"
    ),
}
_WORKER = {
    MODEL: "run_after_priority",
    NAMES: "invalid_task_path missing_task_path task_import_string",
    COMMAND: (
        "empty_worker_id fractional_interval incorrect_backend infinite_interval max_tasks negative_interval "
        "negative_max_tasks too_long_worker_id unknown_backend verbose_logging worker_with_locked_rows zero_interval "
        "zero_max_tasks"
    ),
    QUEUES: (
        "doesnt_process_different_backend doesnt_process_different_queue exclude_queues_requires_processing_all_queues "
        "excluding_unknown_queue_processes_selected_queues process_all_queues process_all_queues_excluding_one_queue"
    ),
    "changes `run_after` in the row of a waiting task": "run_after",
    "expects the words of another version of `normalize_json`; it fails with TypeError here too": (
        "complex_return_value"
    ),
}
LEFT_OUT = {
    f"{group}.test_{name}": reason
    for group, reasons in (("DatabaseBackendTestCase", _BACKEND), ("DatabaseBackendWorkerTestCase", _WORKER))
    for reason, names in reasons.items()
    for name in names.split()
}

# Classes that are left out as a whole.
CLASSES_LEFT_OUT = {
    "AdminTestCase": "about its admin page",
    "CompatTestCase": "about its own imports",
    "ConnectionExclusiveTranscationTestCase": "about its own locks",
    "DBTaskResultOrderingTestCase": MODEL,
    "DatabaseBackendPruneTaskResultsTestCase": "about its command `prune_db_task_results`; workers prune by `keep_…`",
    "DatabaseTaskResultTestCase": MODEL,
    "DatabaseWorkerProcessTestCase": "about processes of `db_worker`; ours are tested in tests/django/test_workers.py",
}
