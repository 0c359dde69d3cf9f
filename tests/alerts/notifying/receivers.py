"""Who is told of alerts: real servers on this machine, that keep what they got."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema
from aiosmtpd.smtp import SMTP

# of Alertmanager's API v2: https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
POSTABLE_ALERTS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["labels"],
        "properties": {
            "labels": {
                "type": "object",
                "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
                "additionalProperties": {"type": "string", "minLength": 1},
                "minProperties": 1,
            },
            "annotations": TEXTS,
            "startsAt": {"type": "string", "format": "date-time"},
            "endsAt": {"type": "string", "format": "date-time"},
            "generatorURL": {"type": "string", "format": "uri"},
        },
        "additionalProperties": False,
    },
}
STATUS = {"enum": ["firing", "resolved"]}
# https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
WEBHOOK = {
    "type": "object",
    "required": [
        *("version", "groupKey", "truncatedAlerts", "status", "receiver", "groupLabels", "commonLabels"),
        *("commonAnnotations", "externalURL", "alerts"),
    ],
    "properties": {
        "version": {"const": "4"},
        "groupKey": {"type": "string", "minLength": 1},
        "truncatedAlerts": {"type": "integer"},
        "status": STATUS,
        "receiver": {"type": "string"},
        "groupLabels": TEXTS,
        "commonLabels": TEXTS,
        "commonAnnotations": TEXTS,
        "externalURL": {"type": "string"},
        "alerts": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": [
                    *("status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint"),
                ],
                "properties": {
                    "status": STATUS,
                    "labels": TEXTS,
                    "annotations": TEXTS,
                    "startsAt": {"type": "string", "format": "date-time"},
                    "endsAt": {"type": "string", "format": "date-time"},
                    "generatorURL": {"type": "string"},
                    "fingerprint": {"type": "string"},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
FORMATS = jsonschema.FormatChecker(formats=())
FORMATS.checks("date-time", raises=ValueError)(lambda text: datetime.fromisoformat(text).tzinfo is not None)


@dataclass
class Receiver:
    """Answers with `answers`, one a request, then 200. A body that isn't of `schema` is answered with 400."""

    url: str
    schema: dict[str, Any]
    answers: list[tuple[int, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    """of what was answered with 200"""
    ids: list[str] = field(default_factory=list)
    """of all requests"""
    paths: list[str] = field(default_factory=list)

    def answer(self, path: str, message_id: str, body: bytes) -> tuple[int, str]:
        self.paths.append(path)
        self.ids.append(message_id)
        parsed = json.loads(body)
        try:
            jsonschema.validate(parsed, self.schema, format_checker=FORMATS)
        except jsonschema.ValidationError as error:
            return 400, error.message
        status, text = self.answers.pop(0) if self.answers else (200, "")
        if status == 200:
            self.bodies.append(parsed)
        return status, text


@contextmanager
def receiving(schema: dict[str, Any]) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, text = receiver.answer(self.path, self.headers["Idempotency-Key"], body)
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", text)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}", schema)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class MailBox:
    """What an SMTP server of ours took; `refuses` makes it take nothing."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.refuses = False

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.refuses:
            return "451 come again later"
        self.mails.append(message_from_bytes(envelope.content, EmailMessage, policy=policy.default))
        return "250 taken"


@contextmanager
def taking_mail() -> Iterator[tuple[MailBox, int]]:
    """A mail box, and the port of its server."""
    box = MailBox()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    # Playwright's event loop may run in this thread
    started = loop.create_server(lambda: SMTP(box, loop=loop), "127.0.0.1", 0)
    server = asyncio.run_coroutine_threadsafe(started, loop).result()
    try:
        yield box, server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
