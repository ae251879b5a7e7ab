"""The client for programs that may not touch the database: the verbs of Workbell, over HTTP."""
