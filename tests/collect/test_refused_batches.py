"""Batches that can't be right are refused by name, and what is hostile in them is stored as text."""

from __future__ import annotations

import gzip
import random
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from observatory.agent.delivery.batch import LEVEL, divide, make_batch
from observatory.clusters.models import Cluster, Project
from observatory.collect.agents.body import COMPRESSED, PART_BYTES, UNPACKED, WINDOW, unpack
from observatory.wire.batches import encode_rows
from observatory.wire.blocks import Column, encode
from observatory.wire.kinds import KINDS
from tests.collect.agents import (
    HOSTILE,
    WORKER,
    Agent,
    Rows,
    agent,
    count,
    make_error,
    make_event,
    make_line,
    make_sample,
    project,
)

__all__ = ["agent", "count", "project"]


@pytest.mark.parametrize("secret", ["", "obs_" + "x" * 43, "x" * 10_000, "obs_\x00", "obs_ümlaut"])
def test_without_a_known_token_nothing_is_read(project: Project, secret: str) -> None:
    agent = Agent(secret)
    assert agent.post(b"whatever") == 401
    assert not Cluster.objects.exists()


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)]
)
def test_bodies_come_compressed_or_not(
    agent: Agent, count: Any, encoding: str, compress: Callable[[bytes], bytes]
) -> None:
    body = agent.body({"span": [agent.span(1)]})
    assert agent.post(body, encoding, compress(body)) == 200
    assert count("span") == 1


def test_gzip_may_come_in_members(agent: Agent, count: Any) -> None:
    body = agent.body({"span": [agent.span(1)]})
    middle = len(body) // 2
    members = gzip.compress(body[:middle]) + gzip.compress(body[middle:])
    assert agent.post(body, "gzip", members) == 200
    assert count("span") == 1


@pytest.mark.parametrize("size", [1_000, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES])
def test_members_of_any_size_are_unpacked_once(size: int) -> None:
    members = [random.Random(number).randbytes(size) for number in range(3)]
    body = b"".join(gzip.compress(member, LEVEL) for member in (*members, b"the end"))
    for length in (1_000, PART_BYTES, len(body)):
        parts = deque(body[start : start + length] for start in range(0, len(body), length))
        assert bytes(unpack(parts, WINDOW["gzip"])) == b"".join((*members, b"the end"))


@pytest.mark.parametrize("rows", [10, 3_000, 10_000])
def test_an_agents_batch_is_stored_however_large_the_part_of_one_importance(
    agent: Agent, count: Any, rows: int
) -> None:
    records = {
        "transition": [agent.transition(number) for number in range(rows)],
        "log": [make_line(agent)],
        "event": [make_event(agent)],
        "sample": [make_sample(agent, 1)],
    }
    dropped: list[Any] = []
    [pieces] = divide(records, dropped)
    batch = make_batch(agent.head(sequence=1), pieces, dropped)
    assert len(batch.parts) == 3
    assert agent.post(b"", "gzip", batch.body()) == 200, agent.answer
    counted = {kind: count(kind) for kind in records}
    assert counted == {kind: len(found) for kind, found in records.items()}


def test_a_zip_bomb_is_refused_before_it_fills_the_memory(agent: Agent) -> None:
    bomb = zlib.compressobj(9)
    data = b"".join(bomb.compress(bytes(1 << 20)) for _ in range((UNPACKED >> 20) + 2)) + bomb.flush()
    assert len(data) < 1 << 20
    assert agent.post(b"", "deflate", data) == 413
    assert agent.answer["detail"] == "the body unpacks to more than 64 times its size"


def test_a_body_over_the_limit_is_refused(agent: Agent) -> None:
    assert agent.post(bytes(COMPRESSED + 1)) == 413
    assert agent.answer["detail"] == "the body has more than 16 MiB sent"


@pytest.mark.parametrize(
    ("encoding", "data", "status", "said"),
    [
        ("gzip", b"no gzip at all", 400, "isn't gzip"),
        ("gzip", gzip.compress(b"x" * 1000, mtime=0)[:-4], 400, "ends too early"),
        ("deflate", zlib.compress(b"x" * 1000)[:-4], 400, "ends too early"),
        ("br", b"x", 415, "isn't known"),
        ("identity", b"", 422, "head"),
        ("identity", b"\x00" * 100, 422, ""),
        ("identity", b"\xff" * 1000, 422, ""),
    ],
)
def test_a_body_that_can_not_be_read_is_refused_with_the_reason(
    agent: Agent, encoding: str, data: bytes, status: int, said: str
) -> None:
    assert agent.post(b"", encoding, data) == status
    assert said in agent.answer["detail"]
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("length", [1, 10, 100, 300, -1, -5])
def test_a_truncated_batch_is_refused_whole(agent: Agent, count: Any, length: int) -> None:
    body = agent.body({"span": [agent.span(n) for n in range(50)], "log": [make_line(agent)]})
    assert agent.post(body[:length]) == 422
    assert agent.answer["detail"]
    assert (count("span"), count("log")) == (0, 0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 2}, "version 1, not 2"),
        ({"agent": "not hexadecimal"}, "agent has to be"),
        ({"sequence": 0}, "sequence has to be"),
        ({"sequence": 2**70}, "sequence has to be"),
        ({"sequence": True}, "sequence has to be"),
        ({"scheduler_id": ""}, "scheduler_id is empty"),
        ({"name": "x" * 501}, "name has to be a text"),
        ({"started": 1e300}, "started has to be seconds"),
        ({"since": "yesterday"}, "since has to be seconds"),
        ({"committed": -1.0}, "committed has to be seconds"),
    ],
)
def test_a_wrong_head_is_named(agent: Agent, changes: dict[str, Any], said: str) -> None:
    assert agent.send({}, **changes) == 422
    assert said in agent.answer["detail"]
    assert not Cluster.objects.exists()


def test_a_kind_that_is_not_known_is_named(agent: Agent) -> None:
    body = agent.body({}) + encode(HOSTILE, 0, [])
    assert agent.post(body) == 422
    assert "kind" in agent.answer["detail"]


def test_a_column_that_is_missing_is_named(agent: Agent) -> None:
    from array import array

    body = agent.body({}) + encode("span", 1, [Column("worker", "text", array("I", [0]), [WORKER])])
    assert agent.post(body) == 422
    assert agent.answer["detail"] == "span has no column thread of type f64"


def test_a_record_that_can_not_be_is_refused_alone_and_counted(agent: Agent, count: Any) -> None:
    good, start = agent.span(1), agent.since + 1
    bad = [
        (WORKER, 1.0, "absurd-1", 0, 1e300, 1e300, 1.0, "int", 0),
        (WORKER, 1.0, "no-time-1", 0, float("nan"), start, 1.0, "int", 0),
        (WORKER, 1.0, "backwards-1", 0, start, start - 1, 1.0, "int", 0),
        (WORKER, float("inf"), "thread-1", 0, start, start + 1, 1.0, "int", 0),
        (WORKER, 1.0, "action-1", 77, start, start + 1, 1.0, "int", 0),
        ("", 1.0, "nobody-1", 0, start, start + 1, 1.0, "int", 0),
    ]
    assert (
        agent.send({"span": [good, *bad], "sample": [(start, 1.0, "no JSON"), (start, 1.0, '["m"]')]}) == 200
    )
    assert agent.answer["refused"] == len(bad) + 2
    assert (count("span"), count("sample")) == (1, 0)


def test_hostile_texts_are_kept_as_texts(agent: Agent, count: Any) -> None:
    nasty = f"{HOSTILE}-\x00\ud800\x1b[31m'; DROP TABLE span; --"
    line = (agent.since + 1, "scheduler", WORKER, 40, HOSTILE, nasty, HOSTILE, 1)
    rows: Rows = {
        "span": [agent.span(1, key=HOSTILE)],
        "log": [line],
        "error": [make_error(agent, key=HOSTILE)],
    }
    body = agent.body({})
    for kind, some in rows.items():
        body += encode_rows(KINDS[kind], [tuple(map(_encodable, row)) for row in some])
    assert agent.post(body) == 200
    assert count("log", "message LIKE '<img%%DROP TABLE%%'") == 1
    assert (count("span"), count("error")) == (1, 1)


def _encodable(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
