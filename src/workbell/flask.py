"""Flask: `init_app(app, bell)` gives a Workbell the application's configuration, and handlers its context.

bell = Workbell()


def create_app() -> Flask:
    app = Flask(__name__)
    app.config.from_prefixed_env()
    init_app(app, bell)
    return app
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgspec

from workbell.app import Workbell
from workbell.errors import SettingsError
from workbell.handlers.resources import Resources
from workbell.settings import IN_STORE
from workbell.stores.opening import open_store

if TYPE_CHECKING:
    from flask import Flask

URL = "WORKBELL_URL"


def init_app(app: Flask, bell: Workbell) -> None:
    """Use a Workbell in a Flask application: the store of `app.config["WORKBELL_URL"]`, and its context around runs.

    The URL counts as if it had been given to `Workbell(url)`; without one, the Workbell stays on its own. It is in
    `app.extensions["workbell"]` afterwards. Of several applications, as in tests, the last one is used. Clients
    that `bell.for_tenant` gave before follow.
    """
    url = app.config.get(URL)
    if url is not None and url != bell.settings.url:
        _use_store(bell, url)
    app.extensions["workbell"] = bell
    if bell in _contexts:
        _contexts[bell].app = app
    else:
        _contexts[bell] = RunContext(app)
        bell.around_run(_contexts[bell].push)


def _use_store(bell: Workbell, url: str) -> None:
    if bell.host.running is not None:
        raise SettingsError("init_app: the engine of this Workbell runs already; call init_app before it starts.")
    if bell.settings.queue_url != IN_STORE:
        raise SettingsError(
            f"init_app: a Workbell with a queue of its own stays on the store that it was made with; leave {URL} out "
            "of the configuration, and set the variable of that name in the environment instead."
        )
    settings = msgspec.structs.replace(bell.settings, url=url)
    store = open_store(url, settings.keep, settings.connections)
    bell.store.close()
    bell.store, bell.settings = store, settings
    bell.registry.resources = Resources.from_settings(settings)


class RunContext:
    """Application context around each run: `current_app` and `g` work in handlers; teardown functions are called."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def push(self) -> Iterator[None]:
        with self.app.app_context():
            yield


_contexts: WeakKeyDictionary[Workbell, RunContext] = WeakKeyDictionary()
