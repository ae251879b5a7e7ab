"""Events: who hears of them, what follows from them, and the verbs to emit and look at them."""
