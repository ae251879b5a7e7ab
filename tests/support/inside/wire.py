"""What tests take of the API as data: the table of operations, and the structs of its answers."""

from workbell.wire.agents import (
    AgentLogLine,
    AgentShown,
    AttemptReport,
    HandedRuns,
    LeasesShown,
    PairedShown,
    PairingShown,
    RunTaken,
    TakenShown,
)
from workbell.wire.audit import AuditShown
from workbell.wire.doctor import Findings
from workbell.wire.events import EventShown, EventSubscribers
from workbell.wire.jobs import ReloadShown
from workbell.wire.notifications import NotificationShown
from workbell.wire.openapi import openapi
from workbell.wire.operation import PREFIX, Items, ListPage, Operation
from workbell.wire.pauses import Resumed
from workbell.wire.retry import RetryShown
from workbell.wire.runs import AttemptShown, FoundRun, MadeRun, RunShown
from workbell.wire.schedules import ScheduleUpdateBody
from workbell.wire.table import OPERATIONS
from workbell.wire.tenants import TenantShown
from workbell.wire.tokens import MadeToken, SelfShown, TokenShown
from workbell.wire.triggers import TriggerShown
from workbell.wire.webhooks import EndpointShown, MadeEndpoint
from workbell.wire.workers import WorkerShown
