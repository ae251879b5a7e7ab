"""Health checks of `workbell doctor`: what is fine about a store, what to note, what is at risk. Read-only."""
