"""Test suites of others, run against `workbell.django` by `make test-django`."""
