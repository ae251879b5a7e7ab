"""The version of the package, and nothing else, so that the build can read it without importing us."""

__version__ = "0.1.0"
