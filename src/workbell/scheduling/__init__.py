"""Decisions about schedules, pure: how one is declared, the fate of its due ticks, and its next check."""
