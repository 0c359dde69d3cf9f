"""Posts batches to Observatory over one persistent HTTP connection."""

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
"""Seconds for each read or write after connecting."""
MAXIMUM_ANSWER = 100_000
MAXIMUM_INTERIM_ANSWERS = 10
"""`100 Continue` before the answer: Python reads them without end."""
REFUSED_STATUSES = (400, 413, 415, 422)


class Outcome(Enum):
    """The result of sending a batch."""

    ACKNOWLEDGED = "acknowledged"
    """The server has stored the batch."""
    RETRY = "retry"
    """The server is away or busy."""
    FORBIDDEN = "forbidden"
    """The token is unknown or revoked. Retried, because an administrator can fix it."""
    REFUSED = "refused"
    """The batch is malformed or too large, and will never be accepted."""


class Answer(http.client.HTTPResponse):
    """An answer with a limit on the interim answers before it."""

    _interim = 0

    def _read_status(self) -> tuple[str, int, str]:
        self._interim += 1
        if self._interim > MAXIMUM_INTERIM_ANSWERS + 1:
            raise http.client.HTTPException(f"more than {MAXIMUM_INTERIM_ANSWERS} times 100 Continue")
        return super()._read_status()  # type: ignore[misc, no-any-return]


class IngestClient:
    """Sends batches. Not thread-safe."""

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
        self._same_project: dict[str, bool] = {}
        self.error = ""
        """Why the last attempt failed."""
        self.refusal = ""
        """The server's answer to the first batch that it refused for good."""
        self.is_watched = False
        """Whether the cluster has open pages, as the server said with its last acknowledgement."""
        self.wait = 0.0
        """Seconds that the server asked to wait before the next request."""

    def send(self, body: bytes) -> Outcome:
        """Sends one batch, compressed with gzip. Does not raise for network or server errors."""
        self.wait = 0.0
        was_open = self._connection is not None
        try:
            try:
                return self._send(body)
            except (ConnectionError, http.client.BadStatusLine):
                # a server may close an idle connection at any time: try once more
                if not was_open:
                    raise
                self.close()
                return self._send(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            self.error = f"{type(error).__name__}: {error}"[:300]
            return Outcome.RETRY

    def is_of_same_project(self, digest: str) -> bool | None:
        """Whether another token, of which `digest` begins the digest, is one of this token's project.

        None: the server did not answer that, because it is away, or older than the agent.
        """
        if digest not in self._same_project:
            try:
                connection = self._connection = self._connection or self._connect()
                path = f"{self._path}/same-project?digest={digest}"
                connection.request("GET", path, headers={"Authorization": self._headers["Authorization"]})
                answer = connection.getresponse()
                body = answer.read(MAXIMUM_ANSWER + 1)
                if answer.will_close or not answer.isclosed():
                    self.close()
                found = json.loads(body)["same_project"] if answer.status == 200 else None
            except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
                self.close()
                found = None
            if not isinstance(found, bool):
                return None
            self._same_project[digest] = found
        return self._same_project[digest]

    def _send(self, body: bytes) -> Outcome:
        connection = self._connection = self._connection or self._connect()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # the server may have answered before it read the whole body
            connection.request("POST", self._path, body, self._headers)
        answer = connection.getresponse()
        body = answer.read(MAXIMUM_ANSWER + 1)
        if answer.will_close or len(body) > MAXIMUM_ANSWER:
            self.close()
        elif not answer.isclosed():
            raise http.client.IncompleteRead(body)
        return self._outcome(answer, body)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> http.client.HTTPConnection:
        connection = (
            http.client.HTTPSConnection(
                self._host, self._port, timeout=CONNECT_TIMEOUT, context=self._tls_context()
            )
            if self._is_secure
            else http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_TIMEOUT)
        )
        connection.response_class = Answer
        connection.connect()
        connection.sock.settimeout(TIMEOUT)
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        verify = self._verify.lower()
        context = ssl.create_default_context(cafile=None if verify in ("true", "false") else self._verify)
        if verify == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _outcome(self, answer: http.client.HTTPResponse, body: bytes) -> Outcome:
        if answer.status == 200:
            try:
                found = json.loads(body)
                if isinstance(found.get("sequence"), int):
                    self.is_watched = found.get("watched") is True
                    return Outcome.ACKNOWLEDGED
            except (ValueError, AttributeError, RecursionError):
                pass
            self.error = "the server that answered is not Observatory"
            return Outcome.RETRY
        self.error = f"status {answer.status}: {body[:300].decode(errors='replace')!r}"
        after = answer.headers.get("Retry-After", "")
        self.wait = min(300.0, float(after)) if after.isdecimal() else 0.0
        if answer.status in (401, 403):
            self.error = f"the token was refused ({self.error})"
            return Outcome.FORBIDDEN
        if answer.status in REFUSED_STATUSES:
            self.refusal = self.refusal or self.error
            return Outcome.REFUSED
        return Outcome.RETRY
