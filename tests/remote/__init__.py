"""`workbell.Client`: the verbs of Workbell over HTTP."""
