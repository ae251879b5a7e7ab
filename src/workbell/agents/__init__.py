"""Server side of agents on other machines: pairing, the methods of `bell.agents`, and the agent protocol."""
