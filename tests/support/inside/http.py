"""What tests take of the service: its routes, policies, pages and sockets."""

from workbell.http import binding as http_binding
from workbell.http import server as http_server
from workbell.http.app import make_app
from workbell.http.binding import bind, forget_running, note_running
from workbell.http.dashboard import assets as dashboard_assets
from workbell.http.dashboard.assets import Assets, assets
from workbell.http.dashboard.bundle import bundles, styles_of
from workbell.http.dashboard.shell import SCREENS
from workbell.http.features import doctor_checks, metrics
from workbell.http.features.enqueue_groups import Order
from workbell.http.features.metrics import FRESH as METRICS_FRESH
from workbell.http.features.metrics import Family, RequestCounts, Sample, written
from workbell.http.framework import bounded_pages, cached_answers
from workbell.http.framework.call import ApiCall
from workbell.http.framework.compression import LEVEL as COMPRESSION_LEVEL
from workbell.http.framework.middleware import OPEN_LIMIT
from workbell.http.framework.problems import status_of
from workbell.http.framework.router import ApiRoutes
from workbell.http.pages import front
from workbell.http.pages.login import login_url
from workbell.http.policies import access_watch, audit_trail
from workbell.http.policies import connections as http_connections
from workbell.http.policies.access_watch import AuthHook
from workbell.http.policies.connections import EdgeProtocol
from workbell.http.policies.open_limits import OpenLimit
from workbell.http.policies.rate_limits import Allowance, CallerRates
from workbell.http.policies.session_cookie import COOKIE
from workbell.http.routes import agents as agent_routes
from workbell.http.routes import files as file_routes
from workbell.http.routes import health as health_routes
from workbell.http.routes import rounds as round_routes
from workbell.http.routes import runs as run_routes
from workbell.http.routes.triggers import trigger_etag
from workbell.http.server import Listening
from workbell.http.sockets import hub, notifier, topics, views
from workbell.http.sockets.connection import notification_body
