"""What happened, told to whoever listens: after it was written, and never in the way of it."""
