"""HTTP service: one Starlette application, made by `make_app` from a Workbell."""
