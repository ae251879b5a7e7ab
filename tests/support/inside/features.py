"""What tests take of the features and the engine: parts of a Workbell, held by themselves or with one replaced."""

from workbell.access import verified
from workbell.access.audit import Audit
from workbell.access.secret_text import NewToken, hash_of, is_token, new_text
from workbell.access.tenants import Tenants
from workbell.access.tokens import Tokens
from workbell.agents import claiming as agent_claiming
from workbell.agents.pairing import Paired
from workbell.agents.verbs import Agents
from workbell.agents.working import Working
from workbell.boot.load_app import load_app
from workbell.bulk import job as bulk_job
from workbell.claims.claiming import Claimant, FairClaims
from workbell.claims.pauses import Pauses
from workbell.client.local import LocalClient
from workbell.doctor import checks, locks
from workbell.doctor.finding import Finding
from workbell.engine.announcer import Announcer
from workbell.engine.claim_hints import ReceivedHints
from workbell.engine.clean_history import clean_job
from workbell.engine.consume import serves
from workbell.engine.dispatch import Dispatch
from workbell.engine.duty import Duty
from workbell.engine.housekeeping import Housekeeping
from workbell.engine.match_events import MatchEvents
from workbell.engine.materialise import Materialise
from workbell.engine.recover import Recover
from workbell.engine.role import Role
from workbell.engine.scheduler_half import SchedulerHalf
from workbell.events import tail as event_tail
from workbell.events import verbs as event_verbs
from workbell.events.declared import API_SOURCE, DeclaredTriggers, Wanted
from workbell.events.emitting import Emitter
from workbell.events.executions import Executions
from workbell.events.subscriptions import Subscriptions
from workbell.handlers import definitions
from workbell.handlers.context import detached
from workbell.handlers.files import Storage
from workbell.handlers.job_function import Enqueuer, JobFunction
from workbell.handlers.registry import Registry
from workbell.handlers.resources import Resources
from workbell.job_files import FolderChange, JobFile
from workbell.notices.bus import Notice
from workbell.notices.notifications import Notifications, Notifier, notification_of
from workbell.notices.push_message import Broadcast, Message, SendToUser
from workbell.outgoing.allow import AllowList
from workbell.outgoing.send import Sender
from workbell.outgoing.wire import default_tls
from workbell.process import verb_threads
from workbell.process.identity import process_name
from workbell.process.platform import VARIABLE as PLATFORM_VARIABLE
from workbell.process.platform import platform
from workbell.queues.message import encode
from workbell.queues.port import Permit
from workbell.runs import queues as queue_verbs
from workbell.runs import tally_chart
from workbell.runs import verbs as run_verbs
from workbell.runs.after_commit import Work, register
from workbell.runs.enqueuing import Enqueuing
from workbell.runs.jobs import OPTIONS as JOB_OPTIONS
from workbell.runs.runtime import Runtime
from workbell.runs.verbs import Runs
from workbell.runs.workers import Workers
from workbell.scheduling import preview
from workbell.scheduling.schedules import Declaration, Schedules
from workbell.scheduling.settings import NAMES as SCHEDULE_SETTINGS
from workbell.scheduling.settings import ScheduleChanges
from workbell.trust.sealing import COMMAND as KEY_COMMAND
from workbell.trust.sealing import VARIABLE as KEY_VARIABLE
from workbell.trust.sealing import Sealer, new_key
from workbell.webhooks.limits import AT_ONCE as DELIVERIES_AT_ONCE
from workbell.webhooks.signature import new_secret
