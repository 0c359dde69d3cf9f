"""Errors are reported to Sentry without personal data and tokens: a process sends them to a real server."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import brotli
import pytest
from django.core.exceptions import ImproperlyConfigured

from observatory import __version__
from observatory.config.logging.setup import start_error_reports

SENDER = """
import asyncio, logging
import django
django.setup()
from django.core.asgi import get_asgi_application
from django.test import override_settings
from django.urls import path
from observatory.config.celery import app

def fail(request, token):
    local = "SECRET-local"
    raise RuntimeError(f"no run at /r/{token} for ann-SECRET@example.org from 10.9.8.7")

urlpatterns = [path("r/<token>/", fail)]

@app.task
def send(address):
    raise LookupError("postgresql://ann:SECRET@database/observatory does not answer")

REQUEST = {
    "type": "http", "http_version": "1.1", "asgi": {"version": "3.0"}, "scheme": "https", "method": "POST",
    "path": "/r/SECRET-link-token/", "query_string": b"next=SECRET-query", "client": ("10.9.8.7", 1),
    "headers": [
        (b"host", b"localhost"),
        (b"authorization", b"Bearer obs_SECRET-SECRET-SECRET"),
        (b"cookie", b"sessionid=SECRET-cookie"),
        (b"x-forwarded-for", b"10.9.8.7"),
        (b"referer", b"https://example.org/r/SECRET-link-token/"),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ],
}

OF_A_SCANNER = {**REQUEST, "headers": [(b"host", b"another.example.org")]}  # refused, not an error of ours

async def request(application, scope):
    bodies = [b"note=SECRET-body"]
    async def receive():
        return {"type": "http.request", "body": bodies.pop()} if bodies else await asyncio.Event().wait()
    async def send_response(message):
        pass
    await application(scope, receive, send_response)

with override_settings(ROOT_URLCONF="__main__", MIDDLEWARE=["django.middleware.common.CommonMiddleware"]):
    application = get_asgi_application()
    asyncio.run(request(application, OF_A_SCANNER))
    asyncio.run(request(application, REQUEST))
send.apply(args=["https://hooks.example.org/SECRET-argument"])
logging.getLogger("observatory.test").info("/r/SECRET-breadcrumb/")
logging.getLogger("observatory.test").error(
    "batch of %s refused", "obs_SECRET-SECRET-SECRET", extra={"request": "SECRET-extra"})
"""


class Receiver(BaseHTTPRequestHandler):
    """Keeps the events of the envelopes that are sent to it."""

    bodies: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        unpack = {"gzip": gzip.decompress, "br": brotli.decompress}[self.headers["Content-Encoding"]]
        self.bodies.append(unpack(body).decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def sent() -> list[str]:
    """The bodies of the requests that the process sent, each an envelope with one event."""
    handler = type("Handler", (Receiver,), {"bodies": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        subprocess.run(
            [sys.executable, "-c", SENDER],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "observatory.config.settings",
                "OBSERVATORY_SENTRY_DSN": f"http://key@127.0.0.1:{server.server_port}/1",
                "OBSERVATORY_SENTRY_ENVIRONMENT": "staging",
            },
            check=True,
            timeout=300,
        )
        server.shutdown()
    return handler.bodies


@pytest.fixture(scope="module")
def events(sent: list[str]) -> list[dict[str, Any]]:
    return [json.loads(body.splitlines()[2]) for body in sent]


def test_failed_requests_failed_tasks_and_error_lines_are_reported(events: list[dict[str, Any]]) -> None:
    request, task, line = events
    assert request["exception"]["values"][0]["type"] == "RuntimeError"
    assert task["exception"]["values"][0]["type"] == "LookupError"
    assert line["logentry"]["message"] == "batch of %s refused"
    for event in events:
        assert event["release"] == f"dask-observatory@{__version__}"
        assert event["environment"] == "staging"
    assert request["request"] == {"method": "POST", "url": "/r/…/"}
    frame = request["exception"]["values"][0]["stacktrace"]["frames"][-1]
    assert frame["function"] == "fail"


def test_reports_have_neither_tokens_nor_personal_data(sent: list[str]) -> None:
    for body in sent:
        assert "SECRET" not in body
        assert "10.9.8.7" not in body
        assert os.uname().nodename not in body


def test_an_unusable_dsn_is_refused_with_the_name_of_the_setting() -> None:
    with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_SENTRY_DSN is not valid: Missing public key"):
        start_error_reports("http://127.0.0.1/1", "production")


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    monkeypatch.delitem(sys.modules, "observatory.config.logging.error_reports", raising=False)
    with pytest.raises(ImproperlyConfigured, match=r"pip install 'dask-observatory\[sentry\]'"):
        start_error_reports("http://key@127.0.0.1/1", "production")
