"""Reader of the endpoints of a tenant: as they are stored, and as the API shows them."""

from __future__ import annotations

import builtins

from workbell.errors import EndpointNotFound
from workbell.model.endpoint import Endpoint
from workbell.model.ids import is_id
from workbell.runs.runtime import Runtime
from workbell.trust.sealing import Sealer
from workbell.webhooks.describe import describe
from workbell.webhooks.slowed import slowed
from workbell.wire.webhooks import EndpointShown


class EndpointReader:
    """Reads endpoints for the verbs and the API."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def sealer(self) -> Sealer:
        return Sealer.from_setting(self._runtime.registry.resources.secret_key)

    def find(self, endpoint_id: str) -> Endpoint:
        """An endpoint as it is stored; raises EndpointNotFound."""
        found = self._runtime.store.subscribers.find_endpoint(endpoint_id) if is_id(endpoint_id) else None
        if found is None or found.tenant != self._runtime.tenant:
            raise EndpointNotFound(
                f"There is no webhook endpoint {endpoint_id!r} of tenant {self._runtime.tenant}; "
                "`workbell webhooks list` shows those that are."
            )
        return found

    def list(self) -> builtins.list[Endpoint]:
        """All endpoints as they are stored, oldest first."""
        return self._runtime.store.subscribers.list_endpoints(self._runtime.tenant)

    def show(self, endpoint: Endpoint) -> EndpointShown:
        """A stored endpoint and how it goes, without its secrets and the values of its headers."""
        store = self._runtime.store
        health = store.subscribers.find_health(endpoint.id)
        return describe(endpoint, health, slowed(store, endpoint, health), self.sealer)

    def find_shown(self, endpoint_id: str) -> EndpointShown:
        return self.show(self.find(endpoint_id))
