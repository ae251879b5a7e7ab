"""What tests take of the stores: the port, the engines, and files and pages of rows."""

from workbell.stores import keyed_writes, turns
from workbell.stores.database import Batch, Database, Row, read_rows
from workbell.stores.django_callers import through_django
from workbell.stores.migrate import NEWEST, dump
from workbell.stores.opening import open_store
from workbell.stores.port import Filter, Head, Held, LeaseTerms, Pick, Store
from workbell.stores.postgres import calls as postgres_calls
from workbell.stores.postgres import connections as postgres_connections
from workbell.stores.postgres import deadlines as postgres_deadlines
from workbell.stores.postgres import sessions as postgres_sessions
from workbell.stores.postgres.calls import Calls
from workbell.stores.postgres.connections import Connection
from workbell.stores.postgres.database import PostgresDatabase
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.postgres.translation import Busy, NotConnected
from workbell.stores.queries import migrations
from workbell.stores.reports import reports, search
from workbell.stores.reports.filters import LaneChoice
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite import backup as sqlite_backup
from workbell.stores.sqlite.backup import back_up, restore
from workbell.stores.sqlite.database import SqliteDatabase
from workbell.stores.sqlite.locks import FileLock
from workbell.stores.sqlite.store import SqliteStore
from workbell.stores.store_page import StorePage
from workbell.stores.subscribers.subscribers import Subscribers
from workbell.stores.workers.rewinds import RETENTION as REWIND_RETENTION
from workbell.testing.sqlite_files import SqliteFiles
