"""Kumofire Jobs: its tables, read and taken over into a store of ours."""
