"""What the tests in tests/client, http, integration and remote take from inside Workbell, a file for each kind.

Everything else they import from `workbell` and `workbell.testing`, so a module that moves is one edit here.
`tests/unit/test_inside.py` checks both.
"""
