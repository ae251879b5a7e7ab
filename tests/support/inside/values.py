"""What tests take of values: ids, clocks, settings, and the structs and pure rules of the model."""

from workbell.model import state
from workbell.model.access import ALONE as SCOPES_ALONE
from workbell.model.access import INCLUDED as SCOPES_INCLUDED
from workbell.model.access import ROUNDS as ROUNDS_SCOPE
from workbell.model.access import Token, TokenKind
from workbell.model.agent import LOST_AFTER as AGENT_LOST_AFTER
from workbell.model.agent import Agent, Ending
from workbell.model.alert import shown_url
from workbell.model.audit import ActorKind, AuditEntry
from workbell.model.clock import OLD as OLD_OFFSET
from workbell.model.clock import SystemClock
from workbell.model.delivery import Delivery
from workbell.model.error_text import describe_error
from workbell.model.event import MatchOutcome
from workbell.model.event_count import EventCount
from workbell.model.event_subscribers import Matched
from workbell.model.ids import MOST_TOKEN, first_id_at, is_id, new_id
from workbell.model.job import ALERT, BULK, DELIVERY
from workbell.model.json_text import LIMIT as INPUT_LIMIT
from workbell.model.keys import JOB_MARK
from workbell.model.log_line import LogLine
from workbell.model.notification import Notification
from workbell.model.pairing import shown_name
from workbell.model.queue_scale import QueueScale, Scale
from workbell.model.queue_state import PausedJob, QueueState
from workbell.model.recent_runs import RecentRuns
from workbell.model.request import ID_WINDOW, plain_request
from workbell.model.retry import ONCE
from workbell.model.rewind import KnownRun, Rewind, RewindKind, Standing, StorePosition, compare, suspicion
from workbell.model.run import LIVE, Added, AttemptStatus, Lane, NewRun
from workbell.model.run_defaults import RESCHEDULES
from workbell.model.run_filter import WORDS as FILTER_WORDS
from workbell.model.run_page import Counted
from workbell.model.schedule import ScheduleChange, ScheduleKind, ScheduleOptions, TickOutcome
from workbell.model.state import Move, Retention, fail, succeed
from workbell.model.stored_file import StoredFile
from workbell.model.tally import BUCKETS, Tally
from workbell.model.tally_chart import TallyChart
from workbell.model.trigger import RetryConfig
from workbell.model.upcoming_ticks import TriedTiming, UpcomingTick, UpcomingTicks
from workbell.model.worker import LOST_AFTER as WORKER_LOST_AFTER
from workbell.model.worker import Worker, alias_of
from workbell.settings import Settings, load
