"""The log lines of a window, and their number over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay.logs import search as log_search
from observatory.replay.logs.schemas import LogCountsOut, Logs
from observatory.replay.logs.search import Wanted, search_around
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope, Section
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import WorkerSeen
from tests.support.response_schemas import assert_documented

A, B = "tcp://10.1.2.3:4000", "tcp://10.1.2.4:4000"


def line(
    time: float, message: str, level: int = 20, role: str = "scheduler", worker: str = "", **more: str
) -> tuple[Any, ...]:
    return (
        time,
        role,
        worker,
        level,
        more.get("logger", "distributed.core"),
        message,
        more.get("traceback", ""),
        7,
    )


@pytest.fixture
def logged(cluster: Cluster, writer: Writer, now: float) -> Cluster:
    seen = [WorkerSeen(worker, "", worker[6:-5], 1, 0, now) for worker in (A, B)]
    rows = [
        line(now + 1, "starts"),
        line(now + 10, "Memory at 95%", 30, "worker", A, logger="distributed.worker.memory"),
        line(now + 11, f"Worker {A} exceeded 95%", 30, "nanny", A, logger="distributed.nanny"),
        line(now + 12, "Compute failed", 40, "worker", B, traceback="Traceback\nKeyError: 'x'"),
        line(now + 3000, "stops", 20),
    ]
    writer.write(Batch.of(cluster.pk, seen, committed=now + 3001, rows={"log": rows}))
    return cluster


def messages(page: dict[str, Any]) -> list[str]:
    return [one["message"] for one in page["lines"]]


def ask(member: Client, cluster: Cluster, path: str = "logs", **query: Any) -> dict[str, Any]:
    answer = member.get(f"/api/v1/clusters/{cluster.pk}/{path}", query)
    assert answer.status_code == 200, answer.content
    document: dict[str, Any] = answer.json()
    assert_documented(Logs if path == "logs" else LogCountsOut, document)
    return document


def test_lines_are_found_by_level_process_worker_logger_text_and_window(
    logged: Cluster, member: Client, direct: psycopg.Connection, now: float
) -> None:
    rows = direct.execute("SELECT address, id FROM worker WHERE cluster_id = %s", [logged.pk]).fetchall()
    ids = dict(rows)
    memory, killed, failed = "Memory at 95%", f"Worker {A} exceeded 95%", "Compute failed"
    everything = ["starts", memory, killed, failed, "stops"]
    for query, found in (
        ({}, everything),
        ({"level": 30}, [memory, killed, failed]),
        ({"role": "nanny"}, [killed]),
        ({"workers": f"{ids[A]},{ids[B]}"}, [memory, killed, failed]),
        ({"workers": ids[B]}, [failed]),
        ({"logger": "distributed.worker"}, [memory]),
        ({"logger": "distributed.w"}, []),
        ({"match": "95%"}, [memory, killed]),
        ({"match": "keyerror"}, [failed]),
        ({"match": r"worker tcp\S+ exceeded \d+%", "regex": True}, [killed]),
        ({"match": "^KeyError", "regex": True}, []),
        ({"match": "(?m)^KeyError", "regex": True}, [failed]),
        ({"after": now + 2, "before": now + 11}, [memory]),
    ):
        page = ask(member, logged, **query)
        assert messages(page) == found, query
        counted = ask(member, logged, "log-counts", **query)
        assert sum(sum(one["counts"]) for one in counted["levels"]) == len(found), query
        assert (page["older"], page["newer"], page["searched_from"]) == (None, None, None)


def test_lines_around_a_time_lead_to_all_others(
    cluster: Cluster, writer: Writer, member: Client, now: float
) -> None:
    rows = [line(now + number // 3, f"line {number:03}") for number in range(100)]
    writer.write(Batch.of(cluster.pk, committed=now + 100, rows={"log": rows}))
    middle = ask(member, cluster, at=now + 20, limit=10)
    assert [one["time"] - now for one in middle["lines"]] == [18, 18, 19, 19, 19, 20, 20, 20, 21, 21]
    seen = messages(middle)
    for side in ("older", "newer"):
        page = middle
        while page[side]:
            page = ask(member, cluster, **{side: page[side]}, limit=7)
            seen += messages(page)
    assert sorted(seen) == [f"line {number:03}" for number in range(100)]
    last = ask(member, cluster, limit=4)
    assert [one["time"] - now for one in last["lines"]] == [32, 32, 32, 33]
    assert last["newer"] is None


def test_counts_are_by_level_and_time(logged: Cluster, member: Client, now: float) -> None:
    found = ask(member, logged, "log-counts", after=now, before=now + 60)
    lines = {
        (one["level"], place): count
        for one in found["levels"]
        for place, count in enumerate(one["counts"])
        if count
    }
    places = {
        (level, int((now + second - found["first"]) / found["width"])): 1
        for second, level in ((1, 20), (10, 30), (11, 30), (12, 40))
    }
    assert lines == places
    assert found["width"] < 60 / 80
    again = ask(member, logged, "log-counts", after=now, before=now + 60, match="95%")
    assert {one["level"]: sum(one["counts"]) for one in again["levels"]} == {30: 2}
    assert (again["first"], again["width"], again["counted_from"]) == (found["first"], found["width"], None)


def test_a_search_that_takes_too_long_says_how_far_it_came_and_is_continued(
    logged: Cluster, direct: psycopg.Connection, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_search, "BUDGET", -1)
    scope, wanted = Scope(logged), Wanted(match="starts", is_regex=True)
    page = search_around(direct, scope, wanted, round((now + 3001) * 1e6), 10)
    assert page.lines == []
    assert page.searched_from is not None
    assert page.searched_from.timestamp() > now + 1
    for _ in range(250):
        if page.lines:
            break
        cursor = log_search.parse_cursor(page.older or "")
        assert cursor is not None
        page = log_search.search_from(direct, scope, wanted, cursor, 10, goes_back=True)
    assert [one.message for one in page.lines] == ["starts"]


def test_an_invalid_expression_is_refused_with_its_reason(logged: Cluster, member: Client) -> None:
    for path in ("logs", "log-counts"):
        answer = member.get(f"/api/v1/clusters/{logged.pk}/{path}", {"match": "a(b", "regex": "true"})
        assert answer.status_code == 422
        assert "missing )" in answer.content.decode()


def test_a_link_finds_what_it_shows_and_nothing_that_it_hides(
    logged: Cluster, direct: psycopg.Connection, now: float
) -> None:
    window = round((now + 5) * 1e6), round((now + 60) * 1e6)

    def found(text: str, sections: Sequence[Section] = tuple(Section)) -> list[str]:
        hidden = Scope(
            logged,
            *window,
            sections=frozenset(sections),
            is_public=True,
            pseudonyms=read_pseudonyms(logged),
        )
        page = search_around(direct, hidden, Wanted(match=text), window[1], 10)
        return [one.message for one in page.lines]

    assert found("10.1.2.3") == []
    assert found("worker 0") == ["Worker worker 0 exceeded 95%"]
    assert found("starts") == [], "outside of the window"
    assert found("KeyError") == ["Compute failed"]
    assert found("KeyError", [Section.LOGS]) == [], "tracebacks are not shared"
