"""Requests to an Observatory over HTTP, with a personal access token."""

from __future__ import annotations

import gzip
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

URL, TOKEN = "OBSERVATORY_URL", "OBSERVATORY_ACCESS_TOKEN"
"""environment variables with the address of an Observatory and a personal access token"""
TIMEOUT = 60.0
"""seconds"""
LONGEST_DETAIL = 500
LONGEST_FETCH, PAUSE = 600.0, 1.0
"""seconds for which a request is sent again while the server fetches archived records, and between two"""


class ObservatoryError(Exception):
    """A failed request. `status` is the HTTP status, 0 without an answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}" if status else detail)
        self.status = status


class Fetching(ObservatoryError):
    """The server is fetching archived records: the same request is answered once they are there."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: the token is sent only to the given URL."""

    def redirect_request(self, *arguments: Any, **keywords: Any) -> None:
        return None


class Connection:
    def __init__(self, url: str, token: str, timeout: float = TIMEOUT) -> None:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"the URL is {url!r}: it begins with http:// or https://")
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirects())

    def json(self, path: str, **parameters: Any) -> Any:
        return json.loads(self.get(path, parameters))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Sends JSON; returns the answer's. Raises ObservatoryError."""
        request = self._request(path)
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
        return json.loads(self._answer(request))

    def delete(self, path: str) -> None:
        """Raises ObservatoryError."""
        request = self._request(path)
        request.method = "DELETE"
        self._answer(request)

    def get(self, path: str, parameters: Mapping[str, Any]) -> bytes:
        """The body of the answer. Raises ObservatoryError. Parameters that are None aren't sent."""
        query = urllib.parse.urlencode(
            {name: value for name, value in parameters.items() if value is not None}
        )
        return self._answer(self._request(f"{path}{'?' if query else ''}{query}"))

    def _request(self, path: str) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self._token}", "Accept-Encoding": "gzip"}
        return urllib.request.Request(f"{self.url}/api/v1{path}", headers=headers)

    def _answer(self, request: urllib.request.Request) -> bytes:
        until = time.monotonic() + LONGEST_FETCH
        while True:
            try:
                return self._answer_once(request)
            except Fetching:
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE)

    def _answer_once(self, request: urllib.request.Request) -> bytes:
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                body: bytes = answer.read()
                return gzip.decompress(body) if answer.headers.get("Content-Encoding") == "gzip" else body
        except urllib.error.HTTPError as error:
            raise _error(error) from None
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            raise ObservatoryError(0, f"{self.url} can't be reached: {reason}") from None


def _error(error: urllib.error.HTTPError) -> ObservatoryError:
    try:
        answer = json.loads(error.read(100_000))
        detail = str(answer["detail"])[:LONGEST_DETAIL]
    except (ValueError, KeyError, TypeError):
        return ObservatoryError(error.code, str(error.reason))
    return (Fetching if "fetching" in answer else ObservatoryError)(error.code, detail)
