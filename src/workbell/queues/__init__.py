"""How runs reach workers: one contract (`port.py`) and its adapters. Which runs a claim takes is in `claims`."""
