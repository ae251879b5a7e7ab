"""Structured logs: which facts a line carries, and its two shapes: text for people, JSON for programs."""

from workbell.logs.handler import set_up

__all__ = ["set_up"]
