"""Webhook receiver of the shop: the courier. Another firm would run it elsewhere; here it is a thread."""

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

PORT = 8399  # allowed in workbell.toml, because it is not public
URL = f"http://127.0.0.1:{PORT}/parcels"


class Courier(BaseHTTPRequestHandler):
    """Accepts every delivery. A real one verifies the signature first: docs/how-to/webhooks.md."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"on my way")

    def log_message(self, *about: object) -> None: ...


def listen() -> None:
    with suppress(OSError):  # another shop on this machine has its courier there, and both can use him
        server = HTTPServer(("127.0.0.1", PORT), Courier)
        threading.Thread(target=server.serve_forever, name="courier", daemon=True).start()
