"""Agents on other machines, the server's half: pairing, the verbs of `bell.agents`, and the work of one agent."""
