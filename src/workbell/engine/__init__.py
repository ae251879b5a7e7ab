"""The engine: one file for each step of a run (dispatch, consume, execute, finish, recover), and their threads."""
