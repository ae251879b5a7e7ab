"""Events: made, fanned out, read."""
