"""Job defaults for new runs (`RunTerms`): from the code that is loaded here, else from the store."""

from __future__ import annotations

from workbell.handlers.registry import Registry
from workbell.model.job import UNKNOWN, RunTerms
from workbell.model.run_defaults import Maker
from workbell.process.identity import process_name
from workbell.stores.port import Store


def find_terms(registry: Registry, store: Store, tenant: str, job: str) -> RunTerms:
    known = registry.find(job) or store.jobs.find(tenant, job)
    return UNKNOWN if known is None else known.terms


def this_process() -> Maker:
    """Maker of runs without settings: this process."""
    return Maker(process_name())
