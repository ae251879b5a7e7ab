"""Events: their subscribers, their fan-out, and the verbs to emit and read them."""
