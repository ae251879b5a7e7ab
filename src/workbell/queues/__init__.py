"""How runs reach workers: one contract (`port.py`) and its adapters."""
