"""Profiles and traces of other tools are attached to runs, lie on their timelines, and can be shifted.

`profiles/` has files that py-spy 0.4 and viztracer 1.1 made of the same program, in which two threads and a
second process compute and sleep in turns.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from observatory.exchange.attachments.attach import Placement
from observatory.exchange.imports.refusal import Refused
from observatory.runs.models import Attachment, Run
from observatory.store.times import from_seconds
from tests.exchange.attached_files import (
    ALL,
    CHROME,
    SPEEDSCOPE,
    VIZTRACER,
    VIZTRACER_COMMAND,
    answered,
    attached,
    content_of,
    own_seconds,
    written,
)
from tests.exchange.everything import START


def told_by_speedscope(content: Any) -> dict[str, float]:
    frames = content["shared"]["frames"]
    sums: Counter[str] = Counter()
    for profile in content["profiles"]:
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
            sums[frames[sample[-1]]["name"]] += weight
    return dict(sums)


def told_by_events(events: list[Any]) -> dict[str, float]:
    """Of B and E events: the time between two events of a thread is of the innermost function."""
    sums: Counter[str] = Counter()
    stacks: dict[Any, list[str]] = {}
    last: dict[Any, float] = {}
    for event in events:
        thread = event["pid"], event["tid"]
        stack = stacks.setdefault(thread, [])
        if stack:
            sums[stack[-1]] += (event["ts"] - last[thread]) / 1e6
        last[thread] = event["ts"]
        if event["ph"] == "B":
            stack.append(event["name"])
        else:
            stack.pop()
    return {name: seconds for name, seconds in sums.items() if seconds}


def told_by_calls(events: list[Any]) -> dict[str, float]:
    """Of X events: a call's time less that of the calls in it."""
    sums: Counter[str] = Counter()
    threads: dict[Any, list[Any]] = {}
    for event in events:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append(event)
    for calls in threads.values():
        outer: list[Any] = []
        for call in sorted(calls, key=lambda each: (each["ts"], -each["dur"])):
            while outer and outer[-1]["ts"] + outer[-1]["dur"] <= call["ts"]:
                outer.pop()
            name = call["name"].split(" (")[0]
            sums[name] += call["dur"] / 1e6
            if outer:
                sums[outer[-1]["name"].split(" (")[0]] -= call["dur"] / 1e6
            outer.append(call)
    return dict(sums)


def near(found: dict[str, float], expected: dict[str, float]) -> bool:
    names = {name for name, seconds in {**found, **expected}.items() if seconds > 1e-5}
    return all(found.get(name, 0) == pytest.approx(expected.get(name, 0), abs=2e-4) for name in names)


def test_functions_take_as_long_as_the_files_say(run: Run, connection: psycopg.Connection) -> None:
    told = {
        SPEEDSCOPE: told_by_speedscope(content_of(SPEEDSCOPE)),
        CHROME: told_by_events(content_of(CHROME)),
        VIZTRACER: told_by_calls(content_of(VIZTRACER)["traceEvents"]),
        VIZTRACER_COMMAND: told_by_calls(content_of(VIZTRACER_COMMAND)["traceEvents"]),
    }
    for path, expected in told.items():
        made = attached(path, run, Placement(start=run.start))
        assert near(own_seconds(answered(connection, run)), expected), path.name
        assert {"inner"} <= expected.keys()
        made.delete()


def test_a_file_without_a_clock_begins_with_the_run_and_one_with_a_clock_when_it_says(
    run: Run, connection: psycopg.Connection
) -> None:
    made = attached(CHROME, run)
    assert (made.start, made.is_dated, made.format) == (run.start, False, "trace")
    assert [thread["process"] for thread in made.threads] == [
        "process 29362",
        "process 29362",
        "process 29370",
    ]
    dated = attached(VIZTRACER, run)
    content = content_of(VIZTRACER)
    first = min(event["ts"] for event in content["traceEvents"] if event["ph"] == "X")
    began = content["viztracer_metadata"]["baseTimeNanoseconds"] / 1e9 + first / 1e6
    assert dated.is_dated
    assert dated.start.timestamp() == pytest.approx(began, abs=1e-5)
    assert "lies beside the run" in dated.remarks
    assert answered(connection, run)["files"][0]["name"] == CHROME.name
    assert len(answered(connection, run)["files"]) == 1  # the run's timeline ends long before the other one


def test_an_explicit_start_comes_before_what_a_file_says(run: Run, connection: psycopg.Connection) -> None:
    start = from_seconds(START + 3)
    for path in ALL:
        assert attached(path, run, Placement(start)).start == start
    files = answered(connection, run)["files"]
    assert [file["start"] for file in files] == [START + 3] * 4


def test_a_window_has_what_ran_in_it(run: Run, connection: psycopg.Connection) -> None:
    """In py-spy's trace the threads begin one after the other."""
    made = attached(CHROME, run)
    whole = answered(connection, run)
    half = START + made.seconds / 2
    parts = [answered(connection, run, START, half), answered(connection, run, half)]
    for name, seconds in own_seconds(whole).items():
        assert sum(own_seconds(part).get(name, 0) for part in parts) == pytest.approx(seconds, abs=2e-3)
    for thread in whole["files"][0]["threads"]:
        pieces = thread["pieces"]
        assert all(start < stop for start, stop, _ in pieces)
        assert all(one[1] <= other[0] + 1e-6 for one, other in pairwise(pieces))
        assert START <= pieces[0][0] < pieces[-1][1] <= START + made.seconds + 1e-6
    named = {whole["functions"][place].split("\t")[0] for _, _, place in pieces}
    assert "inner" in named
    assert answered(connection, run, START + made.seconds + 1)["files"] == []
    assert answered(connection, run, 0, START)["files"] == []


def test_a_zoomed_window_still_has_a_function(run: Run, connection: psycopg.Connection) -> None:
    attached(CHROME, run)
    found = answered(connection, run, START + 0.5, START + 0.5001)
    assert len(found["files"][0]["threads"][0]["pieces"]) == 1


@pytest.fixture
def of_worker(tmp_path: Path) -> Path:
    """py-spy's profile, of the process of the worker w0."""
    text = gzip.decompress(SPEEDSCOPE.read_bytes()).decode().replace("Process 29335 ", "Process 7 ")
    path = tmp_path / "profile.json"
    path.write_text(text)
    return path


def test_threads_lie_with_the_worker_of_their_process(
    run: Run, connection: psycopg.Connection, of_worker: Path
) -> None:
    attached(of_worker, run)
    query = "SELECT id, name FROM worker WHERE cluster_id = %s"
    names = dict(connection.execute(query, [run.cluster_id]).fetchall())
    threads = answered(connection, run)["files"][0]["threads"]
    assert [(thread["name"], names.get(thread["worker"])) for thread in threads] == [
        ("29335", "w0"),
        ("second", "w0"),
        ("MainThread", None),
    ]


def test_a_worker_that_is_named_has_all_threads(run: Run, connection: psycopg.Connection) -> None:
    made = attached(CHROME, run, Placement(worker="w1"))
    assert len({thread["worker"] for thread in made.threads}) == 1
    assert made.threads[0]["worker"] is not None
    with pytest.raises(Refused, match="no worker 'w7'"):
        attached(VIZTRACER, run, Placement(worker="w7"))


def test_a_file_is_attached_once_and_a_run_has_twenty_at_most(
    run: Run, connection: psycopg.Connection, tmp_path: Path
) -> None:
    attached(CHROME, run)
    with pytest.raises(Refused, match="attached to the run already"):
        attached(CHROME, run)
    content = content_of(SPEEDSCOPE)
    for number in range(19):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({**content, "name": str(number)}))
        attached(path, run)
    with pytest.raises(Refused, match="20 attached files"):
        attached(VIZTRACER, run)
    run.refresh_from_db()
    assert run.attached_files == 20


def test_what_py_spy_leaves_out_is_said(run: Run, connection: psycopg.Connection) -> None:
    assert "leaves idle time out" in attached(SPEEDSCOPE, run).remarks
    assert attached(CHROME, run).remarks == ""


def test_attachments_go_with_their_run(run: Run, connection: psycopg.Connection) -> None:
    attached(CHROME, run)
    run.delete()
    assert not Attachment.objects.exists()


EVENTED = {
    "$schema": "https://www.speedscope.app/file-format-schema.json",
    "shared": {"frames": [{"name": "outer"}, {"name": "inner", "file": "w.py", "line": 3}]},
    "profiles": [
        {
            "type": "evented", "name": "main", "unit": "milliseconds", "startValue": 100, "endValue": 400,
            "events": [
                {"type": "O", "frame": 0, "at": 100}, {"type": "O", "frame": 1, "at": 150},
                {"type": "C", "frame": 1, "at": 350}, {"type": "C", "frame": 0, "at": 400},
            ],
        }
    ],
}  # fmt: skip


def test_evented_profiles_and_nested_calls_of_equal_start_are_read(
    run: Run, connection: psycopg.Connection, tmp_path: Path
) -> None:
    made = attached(written(tmp_path, EVENTED), run)
    assert made.seconds == pytest.approx(0.3)
    assert near(own_seconds(answered(connection, run)), {"outer": 0.1, "inner": 0.2})
    made.delete()
    calls = [
        {"ph": "X", "pid": "a", "tid": "b", "ts": 0, "dur": 1e5, "name": "inner"},
        {"ph": "X", "pid": "a", "tid": "b", "ts": 0, "dur": 3e5, "name": "outer"},
        {"ph": "C", "pid": "a", "ts": 5, "args": {"memory": [1, {"deep": []}]}},
        {"ph": "B", "pid": 1, "tid": 2, "ts": 1e5, "name": "never ends"},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 2e5, "dur": 9e5, "name": "outlasts"},
    ]
    made = attached(written(tmp_path, {"displayTimeUnit": "ms", "traceEvents": calls}), run)
    found = own_seconds(answered(connection, run))
    assert near(found, {"inner": 0.1, "outer": 0.2, "never ends": 0.1, "outlasts": 0.9})
    assert "1 events that are no calls" in made.remarks


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\x80\x04.", "pickle"),
        (b"<svg></svg>", "picture of a profile"),
        (b"<!DOCTYPE html><html>", "performance_report"),
        (b"main;inner 12\nmain 3\n", "folded stacks"),
        (b"memray\x00\x01", "memray"),
        (b"PK\x03\x04....", "bundles"),
        (b"just words", "What can be attached: profiles in speedscope's format"),
        (b'{"traceEvents": [{"ph": "X", "ts": 1', "cut off"),
        (b'{"traceEvents": [}', "isn't"),
        (b'{"scheduler": {}}', "cluster dump"),
        (b'[{"key": "inc-1", "startstops": []}]', "get_task_stream"),
        (b'{"a": 1}', "neither profile nor trace"),
        (b'{"traceEvents": []}', "no calls"),
        (b'{"traceEvents": 5}', "no calls"),
        (b'{"traceEvents": [{"ph": "C", "ts": 5}, 7, null, []]}', "no calls"),
        (b'{"profiles": []}', "no profile"),
        (b'{"profiles": [{"type": "sampled", "unit": "bytes", "name": "x"}]}', "'bytes', not time"),
        (b'{"shared": {"frames": []}, "profiles": [{"type": "sampled", "unit": "seconds", '
         b'"samples": [[1]], "weights": [1]}]}', "names a frame"),
        (b'{"shared": {"frames": [{}]}, "profiles": [{"type": "sampled", "unit": "seconds", '
         b'"samples": [[0], [0]], "weights": [1]}]}', "more samples than weights"),
        (b'{"profiles": [{"type": "sampled", "unit": "seconds", "weights": []}]}', "0 seconds"),
        (b'{"traceEvents": [{"ph": "X", "ts": 0, "dur": 1e15, "name": "x"}]}', "at most 31 days"),
        (b'{"traceEvents": [{"ph": "X", "ts": 1e20, "dur": 1, "name": "x"}]}', "no time"),
        (b'{"traceEvents": [{"ph": "X", "ts": ' + b"9" * 5000 + b', "name": "x"}]}', ""),
        (b'{"a": ' + b"[" * 100_000, "nested deeper"),
        (b'{"traceEvents": [{"args": ' + b'{"a":' * 100_000, "nested deeper"),
        (gzip.compress(b'{"traceEvents": [', mtime=0)[:-6], "damaged or cut off"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_the_reason(
    run: Run, connection: psycopg.Connection, tmp_path: Path, content: bytes, reason: str
) -> None:
    with pytest.raises(Refused) as refusal:
        attached(written(tmp_path, content), run)
    assert reason in str(refusal.value)
    assert not Attachment.objects.exists()


def test_a_file_of_very_many_stacks_is_kept_within_bounds(
    run: Run, connection: psycopg.Connection, tmp_path: Path
) -> None:
    """Each of 300,000 calls is of another function, 600 levels deep or beside each other."""
    calls: list[dict[str, Any]] = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": number, "dur": 2e6 - 2 * number, "name": f"deep-{number}"}
        for number in range(600)
    ]
    calls += [
        {"ph": "X", "pid": 1, "tid": 2, "ts": 10 * number, "dur": 5, "name": f"wide-{number}"}
        for number in range(300_000)
    ]
    made = attached(written(tmp_path, calls), run)
    assert len(bytes(made.stacks)) < 8 * 2**20
    found = answered(connection, run)
    assert len(found["stacks"]) == 2_000
    assert found["other_microseconds"] > 0
    assert max(stack["stack"].count("\n") for stack in found["stacks"]) < 500
    spent = sum(one[-1] for stack in found["stacks"] for one in stack["microseconds"])
    assert (spent + found["other_microseconds"]) / 1e6 == pytest.approx(2 + 1.5, rel=0.01)
