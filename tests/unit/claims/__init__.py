"""Tests of which queued runs a claim takes."""
