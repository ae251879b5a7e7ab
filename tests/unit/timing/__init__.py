"""Tests of the maths of ticks, and what they share."""
