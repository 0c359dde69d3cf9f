"""Prometheus' remote protocols for tests: messages as it sends them, and Debian's program itself."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cramjam
from django.test import Client

from observatory.collect.prometheus.messages_pb2 import (
    Label,
    LabelMatcher,
    Query,
    ReadRequest,
    ReadResponse,
    WriteRequest,
)
from tests.browser.observatory import free_port
from tests.support.debian_servers import Process, program

READ, WRITE = "/api/v1/prometheus/read", "/api/v1/ingest/prometheus"
HEADERS = {"Content-Encoding": "snappy", "X-Prometheus-Remote-Read-Version": "0.1.0"}
PROTOBUF = "application/x-protobuf"
STALE = 0x7FF0_0000_0000_0002

Samples = tuple[Mapping[str, str], Iterable[tuple[float, float]]]
"""labels, times (seconds) and values of a series"""
Matcher = tuple[str, str, str]
"""label, one of = != =~ !~, value"""
Read = dict[tuple[tuple[str, str], ...], list[tuple[int, float]]]
"""samples by labels"""


def query(*matchers: Matcher, start: float, stop: float, func: str = "") -> Query:
    """`start` and `stop`: seconds."""
    found = Query(start_timestamp_ms=round(start * 1e3), end_timestamp_ms=round(stop * 1e3))
    for name, operator, value in matchers:
        type = ("=", "!=", "=~", "!~").index(operator)
        found.matchers.append(LabelMatcher(type=type, name=name, value=value))  # type: ignore[arg-type]
    found.hints.func = func
    return found


def compressed(message: Any) -> bytes:
    return bytes(cramjam.snappy.compress_raw(message.SerializeToString()))


def write_request(*series: Samples) -> bytes:
    """A body as Prometheus sends it."""
    request = WriteRequest()
    for labels, samples in series:
        one = request.timeseries.add(
            labels=[Label(name=name, value=labels[name]).SerializeToString() for name in sorted(labels)]
        )
        for time, value in samples:
            one.samples.add(timestamp=round(time * 1e3), value=value)
    return compressed(request)


def post(client: Client, *queries: Query, secret: str = "") -> Any:
    """The answer to a request as Prometheus sends it."""
    headers = {**HEADERS, **({"Authorization": f"Bearer {secret}"} if secret else {})}
    body = compressed(ReadRequest(queries=queries))
    return client.post(READ, body, content_type=PROTOBUF, headers=headers)


def results_of(answer: Any) -> list[Read]:
    """What the library of protobuf reads from an answer, by query."""
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == PROTOBUF
    assert answer["Content-Encoding"] == "snappy"
    response = ReadResponse()
    response.ParseFromString(bytes(cramjam.snappy.decompress_raw(answer.content)))
    return [
        {_labels(series.labels): [(sample.timestamp, sample.value) for sample in series.samples]
         for series in result.timeseries}
        for result in response.results
    ]  # fmt: skip


def _labels(encoded: Iterable[bytes]) -> tuple[tuple[str, str], ...]:
    labels = [Label.FromString(label) for label in encoded]
    pairs = tuple((label.name, label.value) for label in labels)
    assert list(pairs) == sorted(pairs)
    return pairs


@contextmanager
def prometheus(folder: Path, config: Mapping[str, Any], *options: str) -> Iterator[str]:
    """Debian's Prometheus with a configuration; yields its address."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    storage = "--storage.agent.path" if "--enable-feature=agent" in options else "--storage.tsdb.path"
    process = Process(
        [
            program("prometheus", "prometheus"),
            f"--config.file={folder / 'prometheus.yml'}",
            f"{storage}={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
            *options,
        ],
        folder / "prometheus.log",
        lambda: _is_ready(url),
    )
    process.start()
    try:
        process.wait_until_ready()
        yield url
    finally:
        process.kill()


def ask(url: str, promql: str, at: float) -> dict[tuple[tuple[str, str], ...], Any]:
    """Values by labels of an instant query; samples of a range vector."""
    return _query(f"{url}/api/v1/query?{urllib.parse.urlencode({'query': promql, 'time': at})}")


def ask_range(
    url: str, promql: str, start: float, stop: float, step: float
) -> dict[tuple[tuple[str, str], ...], Any]:
    """Values by labels at each step."""
    asked = {"query": promql, "start": start, "end": stop, "step": step}
    return _query(f"{url}/api/v1/query_range?{urllib.parse.urlencode(asked)}")


def _query(url: str) -> dict[tuple[tuple[str, str], ...], Any]:
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from None
    assert not found.get("warnings"), found["warnings"]
    return {
        tuple(sorted(one["metric"].items())): one["values" if "values" in one else "value"]
        for one in found["data"]["result"]
    }


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
