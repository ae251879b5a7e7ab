"""Tests of sending to URLs that users give."""
