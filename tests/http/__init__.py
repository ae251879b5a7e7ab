"""Tests of the HTTP API, called within this process."""
