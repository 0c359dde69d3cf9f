"""Bodies of an ingest token: honest ones, and each kind of hostile one."""

from __future__ import annotations

import gzip
import json
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any
from uuid import uuid4

from observatory.wire.batches import encode_head, encode_rows
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS

DAY = 86_400.0
Rows = Mapping[str, list[tuple[Any, ...]]]


class Agent:
    """Makes the batches of one cluster."""

    def __init__(self, scheduler: str) -> None:
        self.scheduler, self.id = scheduler, uuid4().hex
        self.sequence = 0
        self.since = time.time() - 3600

    def body(self, rows: Rows, started: float | None = None) -> bytes:
        self.sequence += 1
        address = "tcp://10.0.0.9:8786"
        head = Head(
            self.id,
            self.sequence,
            self.scheduler,
            self.scheduler,
            address,
            started or self.since,
            self.since,
            time.time(),
        )
        return encode_head(head) + b"".join(encode_rows(KINDS[kind], some) for kind, some in rows.items())

    def work(self, tasks: int, workers: int = 8, at: float | None = None) -> bytes:
        """Spans and transitions of so many tasks within a second, and their log lines."""
        now = time.time() if at is None else at
        spans, transitions = [], []
        for number in range(tasks):
            key = f"('{random.choice(('load', 'sum', 'merge'))}-{self.scheduler}-{int(now)}', {number})"
            address = f"tcp://10.0.0.{number % workers}:4000"
            start = now - 1 + number / tasks
            spans.append((address, 1.0, key, 0, start, start + 0.1, 28.0, "int", 0))
            transitions.append((start + 0.1, key, "processing", "memory", address, "task-finished"))
        logs = [(now, "scheduler", "", 30, "distributed.core", f"line {now}", "", 1)]
        return self.body({"span": spans, "transition": transitions, "log": logs})


def hostile() -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Name, body and headers of endless hostile requests, each kind in turn."""
    kinds: list[tuple[str, Callable[[], bytes]]] = [
        ("far days", far_days),
        ("new clusters", new_cluster),
        ("names", names),
        ("workers", workers),
        ("series", series),
        ("stacks", stacks),
        ("runs", runs),
        ("agents", agents),
        ("large", large),
        ("nested header", lambda: b"OBS1" + b"[" * 500_000),
        ("decoding bomb", decoding_bomb),
        ("unknown kind", unknown_kind),
        ("random bytes", lambda: os.urandom(1 << 20)),
        ("random bytes, 16 MiB", lambda: os.urandom(16 << 20)),
        ("texts", texts),
        ("work", lambda: STEADY.work(5_000)),
    ]
    bombs = {
        "gzip of zeros": gzip.compress(bytes(32 << 20), 9),
        "gzip of brackets": gzip.compress(b"[" * (30 << 20), 9),
        "gzip members": gzip.compress(b"x") * 100_000,
    }
    while True:
        for name, make in kinds:
            yield name, make(), {}
        for name, body in bombs.items():
            yield name, body, {"Content-Encoding": "gzip"}


STEADY = Agent("attacker-steady")
_numbers = count()


def far_days() -> bytes:
    agent = Agent(f"attacker-far-{next(_numbers) % 3}")
    times = [time.time() - DAY * day for day in range(2, 28)]
    lines = [(at, "scheduler", "", 30, "distributed.core", "a line", "", 1) for at in times]
    moves = [(at, "inc-1", "waiting", "processing", "tcp://10.0.0.1:4000", "why") for at in times]
    return agent.body({"log": lines, "transition": moves}, started=min(times) - DAY)


def new_cluster() -> bytes:
    return Agent(f"attacker-{uuid4().hex}").work(10)


def names() -> bytes:
    now = time.time()
    keys = [f"n{next(_numbers)}{os.urandom(4).hex()}-{index}" for index in range(30_000)]
    return STEADY.body({"transition": [(now, key, "waiting", "processing", "", "w") for key in keys]})


def workers() -> bytes:
    now = time.time()
    addresses = [f"tcp://{os.urandom(4).hex()}:{index}" for index in range(10_000)]
    rows = [
        (address, float(index), "inc-1", 0, now, now, 28.0, "int", 0)
        for index, address in enumerate(addresses)
    ]
    return STEADY.body({"span": rows})


def series() -> bytes:
    now = time.time()
    made = [json.dumps([f"m{next(_numbers)}", {"l": os.urandom(4).hex()}, "", 1]) for _ in range(20_000)]
    return STEADY.body({"sample": [(now, 1.0, one) for one in made]})


def stacks() -> bytes:
    now = time.time()
    frames = [f"f{os.urandom(6).hex()}\tfile.py\t1\n" * 20 for _ in range(2_000)]
    return STEADY.body({"profile": [(now, "", "event-loop", "", one, 1) for one in frames]})


def runs() -> bytes:
    now = time.time()
    return STEADY.body(
        {"run": [(now, now, uuid4().hex, "running", "r", "{}", "", "", "") for _ in range(5_000)]}
    )


def agents() -> bytes:
    return Agent("attacker-agents").work(10)


def large() -> bytes:
    now = time.time()
    lines = [
        (now, "scheduler", "", 30, "distributed.core", os.urandom(400).hex(), "", 1) for _ in range(12_000)
    ]
    return STEADY.body({"log": lines})


def decoding_bomb() -> bytes:
    now = time.time()
    return STEADY.body({"log": [(now, "scheduler", "", 30, '"' * 200, "", "", 1) for _ in range(5_000)]})


def unknown_kind() -> bytes:
    body = STEADY.work(1_000)
    return body.replace(b"transition", b"trAnsition")


def texts() -> bytes:
    now = time.time()
    return STEADY.body(
        {"event": [(now, "worker-added", "", json.dumps({"a": [[]] * 200})) for _ in range(5_000)]}
    )
