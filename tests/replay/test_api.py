"""The page's data: tiles, the state at an instant, spans; and that nobody else gets them."""

from __future__ import annotations

import time

import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.store.writer import Writer
from observatory.wire.blocks import Block, decode
from observatory.wire.records import Action, Batch, Event, Sample, Series, Span, WorkerSeen

A, B = "tcp://127.0.0.1:1", "tcp://127.0.0.1:2"
LEVEL = 20


def _span(key: str, start: float, stop: float, worker: str = A, action: Action = Action.COMPUTE) -> Span:
    prefix = key.split("-")[0]
    return Span(worker, 1, key, prefix, prefix, action, start, stop, 28, "int")


def _fill(writer: Writer, cluster: Cluster, now: float) -> None:
    memory = Series("observatory_worker_memory_bytes", (("type", "process"),), A)
    waiting = Series(
        "dask_scheduler_prefix_state_totals_total", (("state", "waiting"), ("task_prefix_name", "inc"))
    )
    writer.write(
        Batch(
            cluster.pk,
            workers=[
                WorkerSeen(A, "a", "127.0.0.1", 2, 1000, now),
                WorkerSeen(B, "b", "127.0.0.1", 2, 0, now),
            ],
            spans=[
                _span("inc-1", now + 1, now + 1.25),
                _span("inc-2", now + 2, now + 12),
                _span("inc-2", now + 1.5, now + 2, action=Action.TRANSFER),
                _span("sum-<img src=x onerror=alert(1)>", now + 3, now + 8, B),
            ],
            samples=[
                *(Sample(memory, now + second, 100.0 + second) for second in range(10)),
                Sample(waiting, now + 2, 7.0),
            ],
            events=[Event(now + 4, "worker-lost", B, {"message": "gone"})],
            committed=now + 20,
        )
    )


def _tile_url(cluster: Cluster, layer: str, at: float, version: int | None = None) -> str:
    index = int(at * 1e6) // (512 << LEVEL)
    query = "" if version is None else f"?version={version}"
    return f"/api/v1/clusters/{cluster.pk}/tiles/{layer}/{LEVEL}/{index}{query}"


def _blocks(client: Client, url: str) -> dict[str, Block]:
    response = client.get(url)
    assert response.status_code == 200, response.content
    return {block.kind: block for block in decode(response.content)}


def test_a_spans_tile_has_long_spans_as_themselves_and_short_ones_in_bins(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    blocks = _blocks(member, _tile_url(cluster, "spans", now + 5))
    assert blocks["span"].list("key") == ["inc-2", "sum-<img src=x onerror=alert(1)>"]
    assert blocks["span"].list("start") == [now + 2, now + 3]
    assert sum(blocks["busy"].list("seconds")) == pytest.approx(0.75)
    assert sum(blocks["busy"].list("count")) == 2
    assert blocks["extent"].meta["sequence"] == 1


def test_a_series_tile_has_what_each_series_did(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    block = _blocks(member, _tile_url(cluster, "memory", now + 5))["bin"]
    assert sum(block.list("count")) == 10
    assert block.list("last")[-1] == 109.0


def test_an_event_tile_has_the_events(member: Client, cluster: Cluster, writer: Writer, now: float) -> None:
    _fill(writer, cluster, now)
    block = _blocks(member, _tile_url(cluster, "events", now + 5))["event"]
    assert (block.list("kind"), block.list("message")) == (["worker-lost"], ["gone"])


def test_an_open_tile_is_asked_for_again_and_a_closed_one_never(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    url = _tile_url(cluster, "spans", now + 5, version=1)
    assert member.get(url)["Cache-Control"] == "private, no-cache"
    writer.write(Batch(cluster.pk, committed=time.time() + 3600))
    closed = member.get(url)
    assert "immutable" in closed["Cache-Control"]
    again = member.get(url, headers={"If-None-Match": closed["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "immutable" not in member.get(_tile_url(cluster, "spans", now + 5, version=7))["Cache-Control"]


def test_a_span_that_arrives_late_makes_a_new_version_of_the_past(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    writer.write(Batch(cluster.pk, committed=time.time() + 3600))
    url = _tile_url(cluster, "spans", now + 5, version=1)
    before = _blocks(member, url)["span"].rows
    writer.write(Batch(cluster.pk, spans=[_span("inc-3", now + 1, now + 30, B)]))
    assert _blocks(member, url)["span"].rows == before + 1
    assert "immutable" not in member.get(url)["Cache-Control"]
    assert "immutable" in member.get(_tile_url(cluster, "spans", now + 5, version=2))["Cache-Control"]


def test_the_state_at_an_instant_is_what_had_happened_by_then(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)

    def state(at: float) -> dict[str, object]:
        return dict(member.get(f"/api/v1/clusters/{cluster.pk}/state?at={at}").json())

    def done(at: float) -> dict[str, int]:
        return {row["name"]: row["done"] for row in state(at)["progress"]}  # type: ignore[attr-defined]

    assert done(now + 1.2) == {}
    assert done(now + 1.25) == {"inc": 1}
    assert done(now + 8) == {"inc": 1, "sum": 1}
    assert done(now + 12) == {"inc": 2, "sum": 1}
    at = state(now + 5.5)
    [inc] = [row for row in at["progress"] if row["name"] == "inc"]  # type: ignore[attr-defined]
    assert inc["total"] == 7
    a, b = at["workers"]  # type: ignore[misc]
    assert (a["memory"], a["running"], a["limit"]) == (105.0, 1, 1000)
    assert (b["memory"], b["running"]) == (None, 1)


def test_a_heartbeat_of_long_ago_says_nothing_of_now(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    a, _ = member.get(f"/api/v1/clusters/{cluster.pk}/state?at={now + 40}").json()["workers"]
    assert a["memory"] is None


def test_the_span_under_the_cursor_is_found_with_its_whole_key(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    lanes = member.get(f"/api/v1/clusters/{cluster.pk}/lanes").json()
    worker = {item["address"]: item["id"] for item in lanes["workers"]}[A]
    [lane] = [item["id"] for item in lanes["lanes"] if item["worker"] == worker]
    url = f"/api/v1/clusters/{cluster.pk}/span?lane={lane}&at="
    assert member.get(f"{url}{now + 1.1}").json()["key"] == "inc-1"
    assert member.get(f"{url}{now + 1.7}").json()["action"] == "transfer"
    assert member.get(f"{url}{now + 40}").status_code == 404


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("tiles/nonsense/20/1", "layer"),
        ("tiles/spans/9/1", "level"),
        ("tiles/spans/20/-1", "index"),
        ("tiles/spans/20/99999999999999999999", "index"),
        ("state", "at"),
        ("state?at=nan", "at"),
        ("state?at=1e300", "at"),
        ("span?lane=x&at=1", "lane"),
        ("events?limit=1000000", "limit"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    member: Client, cluster: Cluster, path: str, named: str
) -> None:
    response = member.get(f"/api/v1/clusters/{cluster.pk}/{path}")
    assert response.status_code == 422
    assert named in response.content.decode()


PATHS = ("", "/lanes", "/tiles/spans/20/1", "/state?at=1800000000", "/span?lane=1&at=1800000000", "/events")


@pytest.mark.parametrize("path", PATHS)
def test_who_is_no_member_finds_nothing_there(stranger: Client, cluster: Cluster, path: str) -> None:
    assert stranger.get(f"/api/v1/clusters/{cluster.pk}{path}").status_code == 404


@pytest.mark.parametrize("path", PATHS)
def test_who_is_not_signed_in_is_told_so(cluster: Cluster, path: str) -> None:
    assert Client().get(f"/api/v1/clusters/{cluster.pk}{path}").status_code == 401
