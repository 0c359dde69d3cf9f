"""Sends batches over HTTP, on one kept connection."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
from enum import Enum
from urllib.parse import urlsplit

from observatory.agent.configuration import Configuration

PATH = "/api/v1/ingest"
CONNECT_TIMEOUT = 5.0
TIMEOUT = 60.0
"""seconds for each step of an answer"""
MAXIMUM_ANSWER = 100_000
REFUSING = (400, 413, 415, 422)


class Outcome(Enum):
    ACKNOWLEDGED = "acknowledged"
    RETRY = "retry"
    FORBIDDEN = "forbidden"
    """the token is unknown or revoked: it may be mended there"""
    REFUSED = "refused"
    """this batch will never be taken"""


class IngestClient:
    """For one thread."""

    def __init__(self, configuration: Configuration) -> None:
        parts = urlsplit(configuration.url)
        self._is_secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/") + PATH
        self._verify = configuration.verify
        self._headers = {
            "Authorization": f"Bearer {configuration.token}",
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "gzip",
            "User-Agent": "dask-observatory-agent",
        }
        self._connection: http.client.HTTPConnection | None = None
        self.said = ""
        """why it didn't work"""
        self.refused = ""
        """what was said of the first batch that will never be taken"""
        self.wait = 0.0
        """seconds that the server asked to be left alone"""

    def send(self, body: bytes) -> Outcome:
        """Never raises for what a network or a server does."""
        self.wait = 0.0
        was_open = self._connection is not None
        try:
            try:
                return self._send(body)
            except (ConnectionError, http.client.BadStatusLine):
                # a server may close a connection that was kept, at any time: that says nothing of the server
                if not was_open:
                    raise
                self.close()
                return self._send(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            self.said = f"{type(error).__name__}: {error}"[:300]
            return Outcome.RETRY

    def _send(self, body: bytes) -> Outcome:
        connection = self._connection = self._connection or self._connect()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # a server that doesn't want the rest of a body may have answered already
            connection.request("POST", self._path, body, self._headers)
        answer = connection.getresponse()
        said = answer.read(MAXIMUM_ANSWER + 1)
        if answer.will_close or len(said) > MAXIMUM_ANSWER:
            self.close()
        elif not answer.isclosed():
            raise http.client.IncompleteRead(said)
        return self._outcome(answer, said)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> http.client.HTTPConnection:
        connection = (
            http.client.HTTPSConnection(
                self._host, self._port, timeout=CONNECT_TIMEOUT, context=self._trust()
            )
            if self._is_secure
            else http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_TIMEOUT)
        )
        connection.connect()
        connection.sock.settimeout(TIMEOUT)
        return connection

    def _trust(self) -> ssl.SSLContext:
        verify = self._verify.lower()
        context = ssl.create_default_context(cafile=None if verify in ("true", "false") else self._verify)
        if verify == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _outcome(self, answer: http.client.HTTPResponse, said: bytes) -> Outcome:
        if answer.status == 200:
            try:
                if isinstance(json.loads(said).get("sequence"), int):
                    return Outcome.ACKNOWLEDGED
            except (ValueError, AttributeError):
                pass
            self.said = "what answers isn't Observatory"
            return Outcome.RETRY
        self.said = f"status {answer.status}: {said[:300].decode(errors='replace')!r}"
        after = answer.headers.get("Retry-After", "")
        self.wait = min(300.0, float(after)) if after.isdecimal() else 0.0
        if answer.status in (401, 403):
            self.said = f"the token is refused ({self.said})"
            return Outcome.FORBIDDEN
        if answer.status in REFUSING:
            self.refused = self.refused or self.said
            return Outcome.REFUSED
        return Outcome.RETRY
