"""The way of a run, one file a verb: dispatch, consume, execute, finish, recover, clean; and the loops around them."""
