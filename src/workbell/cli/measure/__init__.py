"""What `workbell bench` measures, and the same work in raw SQL to compare it with."""
