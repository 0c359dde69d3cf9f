"""Takes the batches of an agent in place of a server, and makes a bundle of them: `observatory.run(…, to=…)`.

The agent sends its batches here as it would to an Observatory. They are files until the run ends; then a
command of the server stores them in a database of its own, and exports the run from it.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from observatory.client.without_server import CommandFailed, is_possible, run_command

log = logging.getLogger("observatory")

SUFFIX = ".zip"
COMMAND = "make_bundle"
INGEST = "/api/v1/ingest"
LARGEST_BATCH = 16 * 2**20
MOST_BYTES = 4 * 2**30
"""of all batches, compressed"""
IDLE = 60.0
"""seconds after which a silent connection is closed: an agent sends something each second"""


class Recording:
    """The batches of one run, between `open` and `close`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises OSError, ValueError and ModuleNotFoundError where no bundle can be written to `path`."""
        self.path = Path(path).absolute()
        if self.path.suffix != SUFFIX:
            raise ValueError(f"{os.fspath(path)!r} is no name of a bundle: it ends with .observatory.zip")
        if not is_possible():
            raise ModuleNotFoundError("to= needs the server: pip install 'dask-observatory[server]'")
        if self.path.is_dir():
            raise IsADirectoryError(f"{self.path} is a folder")
        with tempfile.TemporaryFile(dir=self.path.parent):
            pass  # the folder exists, and can be written to
        self.arrived = threading.Event()
        """the first batch did"""
        self._token = secrets.token_urlsafe(32)
        self._folder = Path()
        self._server: ThreadingHTTPServer | None = None
        self._lock = threading.Lock()
        self._count = self._bytes = 0

    def open(self, host: str) -> dict[str, str]:
        """Listens at an address of this machine; returns the settings of an agent that reports here."""
        self._folder = Path(tempfile.mkdtemp(prefix="observatory-run-"))
        self._server = ThreadingHTTPServer((host, 0), _handler(self, f"Bearer {self._token}"))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="observatory-record", daemon=True).start()
        address = f"[{host}]" if ":" in host else host
        return {"url": f"http://{address}:{self._server.server_port}", "token": self._token}

    def add(self, body: bytes) -> int:
        """Keeps a batch; returns its number, 0 if there is no more room. Raises OSError."""
        with self._lock:
            if self._bytes + len(body) > MOST_BYTES:
                return 0
            (self._folder / f"{self._count:09}").write_bytes(body)
            self._count += 1
            self._bytes += len(body)
            self.arrived.set()
            return self._count

    def write(self, run: str) -> None:
        """Writes the bundle of the run with this id. Raises RuntimeError with the reason."""
        options = (f"--batches={self._folder}", f"--run={run}", "--", str(self.path))
        try:
            run_command(COMMAND, *options)
        except CommandFailed as failure:
            raise RuntimeError(str(failure)) from None

    def close(self) -> None:
        """Stops listening, and removes the batches."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            shutil.rmtree(self._folder, ignore_errors=True)
        self._server = None


def _handler(recording: Recording, authorization: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = IDLE

        def do_POST(self) -> None:
            given = self.headers.get("Authorization", "")
            length = self.headers.get("Content-Length", "")
            if not secrets.compare_digest(given.encode(), authorization.encode()):
                self._answer(401, {"detail": "the token is unknown"})
            elif self.path != INGEST:
                self._answer(404, {"detail": "unknown path"})
            elif not length.isdecimal() or int(length) > LARGEST_BATCH:
                self._answer(413, {"detail": f"the body has more than {LARGEST_BATCH >> 20} MiB"})
            else:
                self._keep(self.rfile.read(int(length)), int(length))

        def _keep(self, body: bytes, length: int) -> None:
            if len(body) < length:
                self._answer(400, {"detail": "the body ends too early"})
                return
            try:
                number = recording.add(body)
            except OSError as error:
                self._answer(503, {"detail": str(error)})
                return
            if number:
                self._answer(200, {"sequence": number})
            else:
                self._answer(413, {"detail": f"the run has more than {MOST_BYTES >> 30} GiB"})

        def _answer(self, status: int, answer: dict[str, Any]) -> None:
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status != 200:  # its body may not have been read
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            log.debug(format, *arguments)

    return Handler
