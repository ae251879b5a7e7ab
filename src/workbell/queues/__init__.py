"""Queues: permits that wake workers. The contract is in `port.py`; which runs a claim takes is in `claims`."""
