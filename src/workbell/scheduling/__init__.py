"""Decisions about schedules, pure: how one is declared, what becomes of its due ticks, what comes next."""
