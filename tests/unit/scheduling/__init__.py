"""Tests of the decisions about schedules."""
