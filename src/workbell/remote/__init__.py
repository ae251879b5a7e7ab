"""HTTP client `workbell.Client`: the methods of Workbell for programs without access to the database."""
