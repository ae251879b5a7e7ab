"""Measurements of `workbell bench`, and the same work in raw SQL for comparison."""
