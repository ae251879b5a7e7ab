"""The client: the verbs of Workbell for one tenant, and the decorators that declare jobs."""
