"""What an answer of the server costs, in this process and in PostgreSQL, without the network."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import psutil
from django.db import connection
from django.test import Client


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of an answer."""

    first: float
    """until the answer when it was asked for the first time: plans and caches were not there"""
    median: float
    processor: float
    """of this process and of PostgreSQL's sessions, which on a quiet machine is what it takes"""


def cost_of(client: Client, path: str, rounds: int = 3) -> Cost:
    """Ask for an answer once, and then `rounds` times. Raises AssertionError if there is none."""
    taken = [_seconds(client, path)]
    began = processor_seconds()
    taken += [_seconds(client, path) for _ in range(rounds)]
    return Cost(taken[0], statistics.median(taken[1:]), (processor_seconds() - began) / rounds)


def _seconds(client: Client, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    taken = time.perf_counter() - began
    assert answer.status_code == 200, f"{path}: {answer.status_code}"
    return taken


def processor_seconds() -> float:
    """Of this process and of PostgreSQL's sessions in its database, without autovacuum."""
    sessions, database = 0.0, f" {connection.settings_dict['NAME']} "
    for process in psutil.process_iter(["cmdline", "cpu_times"]):
        line = " ".join(process.info["cmdline"] or ())
        if line.startswith("postgres:") and database in line and "autovacuum" not in line:
            sessions += process.info["cpu_times"].user + process.info["cpu_times"].system
    return time.process_time() + sessions
