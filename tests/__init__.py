"""The tests of Workbell."""
