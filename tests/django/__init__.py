"""Tests of `workbell.django`, and the Django app whose tasks they enqueue."""
