"""Session cookie of a browser: its name and attributes, with and without a public URL.

Behind an https URL that is known (`http_public_url`) the cookie is `Secure`, and its prefix has the browser refuse one
that was set over plain http or by another host (RFC 6265bis, 4.1.3).
"""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

from workbell.http.framework.call import request_headers
from workbell.model.public_url import PublicUrl

COOKIE = "workbell_session"


class SessionCookie:
    """How the session cookie of one service is named, set, read and deleted."""

    def __init__(self, public: PublicUrl | None) -> None:
        self._secure = public is not None and public.is_secure
        self._port = "" if public is None else _port_of(public.netloc)

    def name(self, connection: HTTPConnection) -> str:
        """`__Host-` asks for the path `/`, so it is `__Secure-` where the application is mounted below a path.

        Cookies know no ports, so the name has it: else two services on one machine would take each other's sessions
        away.
        """
        if self._secure:
            prefix = "__Secure-" if connection.scope.get("root_path") else "__Host-"
            return f"{prefix}{COOKIE}{self._port}"
        return f"{COOKIE}{_port_of(connection.headers.get('host', ''))}"

    def read(self, connection: HTTPConnection) -> str | None:
        if b"cookie" not in request_headers(connection.scope):  # spares the parser
            return None
        return connection.cookies.get(self.name(connection))

    def set(self, answer: Response, connection: HTTPConnection, text: str, seconds: int) -> None:
        answer.set_cookie(
            self.name(connection),
            text,
            max_age=seconds,
            path=_path(connection),
            httponly=True,
            samesite="lax",  # a link in a mail leads in; changes must come from our own page (Service.check_origin)
            secure=self._is_secure(connection),
        )

    def delete(self, answer: Response, connection: HTTPConnection) -> None:
        """Browsers refuse a cookie with a prefix that is not `Secure`, also one that is to be deleted."""
        secure = self._is_secure(connection)
        answer.delete_cookie(
            self.name(connection), path=_path(connection), secure=secure, httponly=True, samesite="lax"
        )

    def _is_secure(self, connection: HTTPConnection) -> bool:
        return self._secure or connection.url.scheme == "https"


def _port_of(host: str) -> str:
    """`_8443`, if a host is named with its port."""
    port = host.rpartition(":")[2]
    return f"_{port}" if port.isascii() and port.isdigit() else ""


def _path(connection: HTTPConnection) -> str:
    return f"{connection.scope.get('root_path', '')}/"
