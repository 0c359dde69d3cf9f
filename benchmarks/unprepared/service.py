"""A service that answers each request after a while, as many at once as there are."""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from collections.abc import Iterator


@contextlib.contextmanager
def service(seconds: float) -> Iterator[str]:
    """Yields its address."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(seconds)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"answer")

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
