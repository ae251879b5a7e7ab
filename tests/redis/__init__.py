"""Tests of the Redis queue, on a Redis that they start themselves: `make test-redis`."""
