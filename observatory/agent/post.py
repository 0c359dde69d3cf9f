"""Sends batches over HTTP, on one kept connection."""

from __future__ import annotations

import http.client
import json
import ssl
from enum import Enum
from urllib.parse import urlsplit

from observatory.agent.configuration import Configuration

PATH = "/api/v1/ingest"
TIMEOUT = 60.0
MAXIMUM_ANSWER = 100_000
REFUSING = (400, 413, 415, 422)


class Outcome(Enum):
    ACKNOWLEDGED = "acknowledged"
    RETRY = "retry"
    FORBIDDEN = "forbidden"
    """the token is unknown or revoked: it may be mended there"""
    REFUSED = "refused"
    """this batch will never be taken"""


class Post:
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
        self.wait = 0.0
        """seconds that the server asked to be left alone"""

    def send(self, body: bytes) -> Outcome:
        self.wait = 0.0
        try:
            connection = self._connection = self._connection or self._connect()
            connection.request("POST", self._path, body, self._headers)
            answer = connection.getresponse()
            said = answer.read(MAXIMUM_ANSWER + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            self.said = f"{type(error).__name__}: {error}"[:300]
            return Outcome.RETRY
        if answer.will_close or len(said) > MAXIMUM_ANSWER:
            self.close()
        return self._outcome(answer, said)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> http.client.HTTPConnection:
        if not self._is_secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT)
        return http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT, context=self._trust())

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
        self.said = f"status {answer.status}: {said[:300].decode(errors='replace')}"
        after = answer.headers.get("Retry-After", "")
        self.wait = min(300.0, float(after)) if after.isdecimal() else 0.0
        if answer.status in (401, 403):
            return Outcome.FORBIDDEN
        return Outcome.REFUSED if answer.status in REFUSING else Outcome.RETRY
