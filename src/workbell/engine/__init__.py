"""The way of a run, one file a verb: dispatch, consume, execute, finish, recover, prune; and the loops around them."""
