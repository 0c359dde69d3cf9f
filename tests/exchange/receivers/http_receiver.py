"""A server of OTLP and Sentry on this machine: it parses what it gets with their libraries, and keeps it."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from sentry_sdk.envelope import Envelope

SIGNALS: dict[str, tuple[type[Message], type[Message]]] = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/logs": (ExportLogsServiceRequest, ExportLogsServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
}


@dataclass
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """None: what accepts everything"""


@dataclass
class HttpReceiver:
    """Answers with `answers`, one a request, then with success."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    """by path, where it is always the same"""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """path and headers of each"""
    messages: list[Any] = field(default_factory=list)
    """of OTLP, that were answered with success"""
    events: list[dict[str, Any]] = field(default_factory=list)
    """of Sentry"""
    keeps: bool = True
    """False: messages are parsed and counted only"""
    received: int = 0
    """spans, log records and metrics"""
    largest: int = 0
    """bytes of the largest message"""

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        self.requests.append((path, headers))
        always = Answer(self.statuses.get(path, 200))
        answer = self.answers.pop(0) if self.answers else always
        assert headers["Content-Encoding"] == "gzip"
        plain = gzip.decompress(body)
        self.largest = max(self.largest, len(plain))
        signal = next((name for name in SIGNALS if path.endswith(name)), "")
        if signal:
            assert headers["Content-Type"] == "application/x-protobuf"
            request, response = SIGNALS[signal]
            message = request.FromString(plain)
            self.received += sum(len(scope.ListFields()[-1][1]) for scope in _scopes(message))
            default = response().SerializeToString()
        else:
            assert headers["Content-Type"] == "application/x-sentry-envelope"
            envelope = Envelope.deserialize(plain)
            default = b'{"id": "1"}'
        if answer.status == 200 and self.keeps:
            if signal:
                self.messages.append(message)
            else:
                self.events += [event for item in envelope if (event := item.get_event()) is not None]
        return Answer(answer.status, answer.headers, default if answer.body is None else answer.body)

    @property
    def spans(self) -> list[tuple[dict[str, Any], Span]]:
        """Each with the attributes of its resource."""
        return [
            (values(of.resource.attributes), span)
            for message in self.messages
            if isinstance(message, ExportTraceServiceRequest)
            for of in message.resource_spans
            for scope in of.scope_spans
            for span in scope.spans
        ]

    @property
    def logs(self) -> list[tuple[dict[str, Any], LogRecord]]:
        return [
            (values(of.resource.attributes), record)
            for message in self.messages
            if isinstance(message, ExportLogsServiceRequest)
            for of in message.resource_logs
            for scope in of.scope_logs
            for record in scope.log_records
        ]

    @property
    def metrics(self) -> list[tuple[dict[str, Any], Metric]]:
        return [
            (values(of.resource.attributes), metric)
            for message in self.messages
            if isinstance(message, ExportMetricsServiceRequest)
            for of in message.resource_metrics
            for scope in of.scope_metrics
            for metric in scope.metrics
        ]


def _scopes(message: Any) -> Iterator[Any]:
    """The messages with the records of each scope of a request."""
    for _, resources in message.ListFields():
        for resource in resources:
            yield from resource.ListFields()[-1][1]


def values(attributes: Any) -> dict[str, Any]:
    """Attributes as Python's values; each name may be there once."""
    found = {attribute.key: _value(attribute) for attribute in attributes}
    assert len(found) == len(attributes)
    return found


def _value(attribute: KeyValue) -> Any:
    return getattr(attribute.value, str(attribute.value.WhichOneof("value")))


@contextmanager
def receiving() -> Iterator[HttpReceiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = receiver.answer(self.path, dict(self.headers), body)
            send = self.send_response_only if "Date" in answer.headers else self.send_response
            send(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body or b"")

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = HttpReceiver(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
