"""Where jobs and runs are kept: one contract (`port.py`) and its adapters."""
