"""Django's own tests of its dummy and immediate backends, with `WorkbellBackend` in their place."""

from __future__ import annotations

from typing import Any
from unittest import mock, skip

import backends
from django.tasks import default_task_backend
from django.test import TransactionTestCase, override_settings
from tasks import test_dummy_backend, test_immediate_backend

DRAINED = {"default": {"BACKEND": "backends.DrainedBackend", "QUEUES": []}}
LISTED = {"default": {"BACKEND": "backends.ListedBackend", "QUEUES": []}}


class Retargeted:
    """The database is there for them: the tests of Django are for backends without one."""

    databases: Any = frozenset({"default"})
    module: Any
    replaced: str
    with_what: type

    def setUp(self) -> None:
        patched = mock.patch.object(self.module, self.replaced, self.with_what)
        patched.start()
        self.addCleanup(patched.stop)  # type: ignore[attr-defined]
        backends.forget_runs(default_task_backend)
        super().setUp()  # type: ignore[misc]


@override_settings(TASKS=DRAINED)
class ImmediateTests(Retargeted, test_immediate_backend.ImmediateBackendTestCase):
    module, replaced, with_what = test_immediate_backend, "ImmediateBackend", backends.DrainedBackend

    @skip("WorkbellBackend has results")
    async def test_cannot_get_result(self) -> None: ...

    @skip("WorkbellBackend has results")
    async def test_cannot_refresh_result(self) -> None: ...

    @skip("WorkbellBackend has run_after")
    def test_cannot_pass_run_after(self) -> None: ...


@override_settings(TASKS=LISTED)
class DummyTests(Retargeted, test_dummy_backend.DummyBackendTestCase):
    module, replaced, with_what = test_dummy_backend, "DummyBackend", backends.ListedBackend

    @skip("it changes a result in the list of the dummy backend; here results are rows")
    def test_refresh_result(self) -> None: ...

    @skip("it changes a result in the list of the dummy backend; here results are rows")
    async def test_refresh_result_async(self) -> None: ...


class ImmediateTransactionTests(TransactionTestCase):
    test_doesnt_wait = override_settings(TASKS=DRAINED)(
        test_immediate_backend.ImmediateBackendTransactionTestCase.test_doesnt_wait_until_transaction_commit_by_default.__wrapped__
    )


class DummyTransactionTests(TransactionTestCase):
    test_doesnt_wait = override_settings(TASKS=LISTED)(
        test_dummy_backend.DummyBackendTransactionTestCase.test_doesnt_wait_until_transaction_commit_by_default.__wrapped__
    )


del TransactionTestCase
