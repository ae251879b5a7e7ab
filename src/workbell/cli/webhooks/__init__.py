"""`workbell webhooks`: webhook endpoints and their deliveries."""

from __future__ import annotations

import click

from workbell.cli.lazy import Lazy, LazyGroup

PACKAGE = "workbell.cli.webhooks"
COMMANDS = {
    "list": Lazy(f"{PACKAGE}.list_and_show:list_endpoints", "List the endpoints, and how deliveries to them go."),
    "show": Lazy(f"{PACKAGE}.list_and_show:show_endpoint", "Show all details of an endpoint."),
    "add": Lazy(f"{PACKAGE}.add:add", "Add an endpoint: send events to a URL. The secret is shown this once."),
    "update": Lazy(f"{PACKAGE}.update:update", "Change what is given; the rest stays."),
    "test": Lazy(f"{PACKAGE}.ping:test", "Send a ping to an endpoint, and say what it answered."),
    "rotate": Lazy(f"{PACKAGE}.rotate:rotate", "Give an endpoint another secret; the old one is valid for a while."),
    "enable": Lazy(f"{PACKAGE}.enable_and_remove:enable", "Send to an endpoint again."),
    "disable": Lazy(
        f"{PACKAGE}.enable_and_remove:disable",
        "Send nothing more to an endpoint; matching events are recorded.",
    ),
    "remove": Lazy(f"{PACKAGE}.enable_and_remove:remove", "Remove an endpoint; its deliveries stay."),
    "deliveries": Lazy(
        f"{PACKAGE}.deliveries:deliveries", "List what was and will be sent to an endpoint, newest first."
    ),
    "replay": Lazy(f"{PACKAGE}.replay:replay", "Send again: one event, or all that were not delivered since a time."),
    "seal": Lazy(
        f"{PACKAGE}.seal:seal",
        "Seal secrets, headers and URLs, also those of alerts, with the first key of WORKBELL_SECRET_KEY.",
    ),
    "new-key": Lazy(
        f"{PACKAGE}.new_key:print_new_key", "Generate a key that encrypts the secrets of endpoints in the store."
    ),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    help="See, add, test, change and remove webhook endpoints, and what was sent to them.\n\n"
    "ID is the id of an endpoint, or at least six letters of its beginning or its end.",
)
def webhooks() -> None: ...
