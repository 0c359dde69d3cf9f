"""Posts messages of OpenTelemetry's protocol over HTTP: binary protobuf, gzip.

Source: https://opentelemetry.io/docs/specs/otlp/#otlphttp.
"""

from __future__ import annotations

import gzip
import time
from collections import Counter
from http import HTTPStatus
from typing import Literal

from google.protobuf.message import DecodeError
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

from observatory.alerts.notifying.errors import MAX_LENGTH, scrub
from observatory.alerts.notifying.http_post import RefusedError, post_bytes
from observatory.exchange.receivers.progress import Progress
from observatory.exchange.receivers.receiver_kind import Address

Request = ExportTraceServiceRequest | ExportLogsServiceRequest | ExportMetricsServiceRequest
Signal = Literal["traces", "logs", "metrics"]
HEADERS = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
BEHIND = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""seconds before the same request is sent again"""
LONGEST_PAUSE = 60.0
PATIENCE = 180.0
"""seconds of pauses for a run"""
SHOWN = 200
"""characters of a receiver's message"""


class Posting:
    """Posts to a receiver what it doesn't have yet, and counts what it rejected of what it accepted."""

    def __init__(self, address: Address, progress: Progress) -> None:
        self._address = address
        self._progress = progress
        self.rejected: Counter[Signal] = Counter()
        self.message = ""
        """the receiver's last, of a partial success"""
        self._has_accepted = False
        self._patience = PATIENCE

    def post(self, signal: Signal, request: Request) -> None:
        """Raises SendError, and Changed for what isn't as it was in the last attempt."""
        url = f"{self._address.url}/v1/{signal}"
        plain = request.SerializeToString(deterministic=True)
        if self._progress.has(signal, plain):
            self._has_accepted = True
            return
        try:
            answer = self._post(url, gzip.compress(plain, 5, mtime=0))
        except RefusedError as error:
            raise RefusedError(error.status, error.retry_after, signal) from None
        self._progress.add(signal, plain)
        rejected, message = _partial_success(signal, answer)
        if rejected > 0:
            self.rejected[signal] += rejected
        if message:
            self.message = _without_secrets(message, self._address)

    def _post(self, url: str, body: bytes) -> bytes:
        """Posts the same again to a receiver that is behind, having taken some of the run.

        Starting over would send it what it has, and bring it no further.
        """
        for pause in (*PAUSES, None):
            try:
                answer = post_bytes(url, body, {**self._address.headers, **HEADERS})
            except RefusedError as error:
                asked = max(pause or 0.0, error.retry_after or 0.0)
                is_behind = self._has_accepted and error.status in BEHIND
                if pause is None or not is_behind or asked > min(self._patience, LONGEST_PAUSE):
                    raise
                self._patience -= asked
                time.sleep(asked)
            else:
                self._has_accepted = True
                return answer
        raise AssertionError("the last pause is None")

    @property
    def remark(self) -> str:
        """What the receiver rejected and said, as a sentence; "" for nothing."""
        counts = [f"{count:,} of {signal}" for signal, count in self.rejected.items()]
        rejected = f"It rejected {', '.join(counts)}." if counts else ""
        said = f"It said: {self.message[:SHOWN]}" if self.message else ""
        return " ".join(part for part in (rejected, said) if part)


def _partial_success(signal: Signal, answer: bytes) -> tuple[int, str]:
    """How many records the receiver rejected, and what it said. What isn't protobuf is an acceptance."""
    try:
        if signal == "traces":
            trace = ExportTraceServiceResponse.FromString(answer).partial_success
            return trace.rejected_spans, trace.error_message
        if signal == "logs":
            logs = ExportLogsServiceResponse.FromString(answer).partial_success
            return logs.rejected_log_records, logs.error_message
        metrics = ExportMetricsServiceResponse.FromString(answer).partial_success
        return metrics.rejected_data_points, metrics.error_message
    except DecodeError:
        return 0, ""


def _without_secrets(message: str, address: Address) -> str:
    words = [word for value in address.headers.values() for word in value.split()]
    for secret in (address.url, *words):
        message = scrub(message, secret)
    return message[:MAX_LENGTH]
