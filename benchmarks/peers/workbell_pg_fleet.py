"""Workbell with supervised worker processes, as the harness of peers wants it."""

from _fleet import supervise
from workbell_pg import CONFIG, PACKAGES, STORE, bell, enqueue, enqueue_bulk, pending, setup  # noqa: F401

FORKS = True


def worker(processes):
    supervise("workbell_pg", processes)
