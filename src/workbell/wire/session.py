"""The session of a browser: it begins with a sign-in URL, and ends here."""

from __future__ import annotations

from workbell.wire.operation import Operations

operations = Operations("session")

end = operations.add(
    "end", "DELETE", "/session", None, type(None), "Sign out: end the session of this browser.", status=204
)
