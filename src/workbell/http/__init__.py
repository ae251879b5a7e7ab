"""HTTP service: one FastAPI application, made by `make_app` from a Workbell."""
