"""Hostile pages are read within limits, and malformed values are skipped."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.collect.http.addresses import AddressError, stream_url, worker_url
from observatory.collect.scheduler.identity import Counts, IdentityError, Problems, read_counts, read_identity
from observatory.collect.scheduler.workers_page import read_workers_page
from observatory.collect.stream.messages import read_message
from observatory.wire.records import MAXIMUM_KEY_LENGTH, Action, Event, Span, Status

NOW = 1_790_000_000.0
NOTHING = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20)
JSON = st.recursive(
    NOTHING,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
)
WORKER = {
    "host": "10.0.0.2",
    "name": "a",
    "nthreads": 2,
    "memory_limit": 1000,
    "last_seen": NOW,
    "status": "running",
    "services": {"dashboard": 40000},
    "resources": {"GPU": 1},
    "metrics": {
        "time": NOW - 1,
        "memory": 500,
        "managed_bytes": 300,
        "spilled_bytes": {"memory": 100, "disk": 60},
        "cpu": 12.5,
        "num_fds": 7,
        "task_counts": {"executing": 2},
        "host_net_io": {"read_bps": 1.0, "write_bps": 2.0},
        "transfer": {"incoming_bytes": 3, "outgoing_bytes": 4},
    },
}
IDENTITY = {
    "type": "Scheduler",
    "id": "Scheduler-1",
    "address": "tcp://10.0.0.1:8786",
    "started": NOW - 100,
    "total_threads": 2,
    "workers": {"tcp://10.0.0.2:4000": WORKER},
}
MESSAGE = {
    "name": "transition",
    "key": "inc-1",
    "worker": "tcp://10.0.0.2:4000",
    "thread": 1,
    "start": NOW,
    "stop": NOW + 1,
    "action": "compute",
    "status": "OK",
    "nbytes": 28,
    "typename": "int",
}


def problems() -> Problems:
    return Problems("test")


def changed(page: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(page))
    inner = copy
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return copy


def test_an_identity_is_read_with_its_heartbeat() -> None:
    identity = read_identity(IDENTITY, problems())
    (worker,) = identity.workers.values()
    assert (worker.nthreads, worker.memory_limit, worker.port) == (2, 1000, 40000)
    assert worker.resources == {"GPU": 1.0}
    values = worker.heartbeat.values
    memory = {kind: value for (name, _, kind), value in values.items() if name.endswith("memory_bytes")}
    assert memory == {"process": 500, "managed": 200, "unmanaged": 300, "spilled": 60}
    assert values["observatory_worker_cpu_percent", "", ""] == 12.5
    assert values["observatory_worker_tasks", "state", "executing"] == 2


PATHS = [
    *([name] for name in IDENTITY),
    *(["workers", "tcp://10.0.0.2:4000", name] for name in WORKER),
    *(["workers", "tcp://10.0.0.2:4000", "metrics", name] for name in WORKER["metrics"]),
]


@given(path=st.sampled_from(PATHS), value=JSON)
def test_any_value_of_a_field_is_read_or_refused_with_the_documented_error(
    path: list[str], value: Any
) -> None:
    try:
        read_identity(changed(IDENTITY, path, value), problems())
    except IdentityError:
        assert len(path) == 1


@given(page=JSON)
def test_any_json_is_an_identity_and_counts_or_refused(page: Any) -> None:
    for read in (lambda: read_identity(page, problems()), lambda: read_counts(page)):
        with suppress(IdentityError):
            read()


@given(name=st.sampled_from(list(MESSAGE)), value=JSON)
def test_a_message_of_any_field_gives_bounded_records_or_none(name: str, value: Any) -> None:
    for record in read_message(json.dumps({**MESSAGE, name: value}), NOW, problems()):
        if isinstance(record, Span):
            assert record.start <= record.stop
            assert 0 <= record.nbytes < 2**63
            assert 0 <= record.thread < 2**63
            assert len(record.key) <= MAXIMUM_KEY_LENGTH
            assert record.key.isprintable()
            assert record.prefix


def test_a_transition_is_a_span_with_its_prefix_and_group() -> None:
    message = {**MESSAGE, "key": ["sum-12ab34cd", 0, [1, 2]], "action": "disk-read", "status": "error"}
    (span,) = read_message(json.dumps(message), NOW, problems())
    assert isinstance(span, Span)
    assert span.key == "('sum-12ab34cd', 0, (1, 2))"
    assert (span.prefix, span.group) == ("sum", "sum-12ab34cd")
    assert (span.action, span.status) == (Action.DISK_READ, Status.ERROR)


def test_a_message_can_hold_several() -> None:
    messages = [
        MESSAGE,
        {"name": "add_worker", "worker": "tcp://10.0.0.3:4000"},
        {"name": "restart"},
        "nonsense",
    ]
    records = read_message(json.dumps(messages), NOW, problems())
    assert [type(record) for record in records] == [Span, Event, Event]


def test_hostile_keys_stay_text() -> None:
    key = "<img src=x onerror=alert(1)>\x00\x1b[31m" + "x" * 100_000
    (span,) = read_message(json.dumps({**MESSAGE, "key": key}), NOW, problems())
    assert isinstance(span, Span)
    assert span.key.startswith("<img src=x onerror=alert(1)>�")
    assert len(span.key) <= MAXIMUM_KEY_LENGTH


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"name": ["transition"]}', '{"name": "unknown"}', "7"]
)
def test_malformed_messages_are_skipped(text: str) -> None:
    assert read_message(text, NOW, problems()) == []


def test_each_kind_of_problem_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    answer = problems()
    for _ in range(3):
        read_message("{", NOW, answer)
    assert len(caplog.records) == 1


@given(
    page=st.text() | st.text().map(lambda text: f"<h1>Scheduler tcp://x:1</h1><table><tr>{text}<td>{text}")
)
def test_any_page_of_workers_is_read_or_refused(page: str) -> None:
    with suppress(IdentityError):
        read_workers_page(page.encode("utf-8", "replace"), NOW, problems())


def test_counts_are_whole_numbers_from_0() -> None:
    counts = read_counts({"workers": 2, "tasks": -1, "erred": float("nan"), "memory": "many", "cores": 1e300})
    assert counts == Counts({"workers": 2, "tasks": 0, "erred": 0, "memory": 0, "cores": 0})


@pytest.mark.parametrize(
    "host",
    [
        "",
        "a b",
        "x/../y",
        "user@host",
        "host:80",
        "127.0.0.1",
        "169.254.169.254",
        "::1",
        "0.0.0.0",
        "224.0.0.1",
    ],
)
def test_a_workers_host_cannot_point_to_our_own_machine_or_to_another_path(host: str) -> None:
    with pytest.raises(AddressError):
        worker_url("http://scheduler:8787", host, 40000, is_local=False)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_workers_port_is_checked(port: int) -> None:
    with pytest.raises(AddressError):
        worker_url("http://scheduler:8787", "10.0.0.2", port, is_local=False)


def test_the_addresses_of_a_target() -> None:
    assert worker_url("http://s:8787", "127.0.0.1", 1, is_local=True) == "http://127.0.0.1:1"
    assert worker_url("https://s", "fd00::2", 40000, is_local=False) == "https://[fd00::2]:40000"
    assert stream_url("https://s/dask") == "wss://s/dask/eventstream"
    assert stream_url("http://s:8787") == "ws://s:8787/eventstream"
