"""Handler processes (`isolate="process"`): started when needed, reused, and killed at a timeout."""
