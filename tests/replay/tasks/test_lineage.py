"""The lineage of a task: what it was made of and what was made of it, in a cluster, a run or a link."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay.lineage import MAXIMUM_TASKS, lineage_of, stolen_tasks
from observatory.replay.lineage_schemas import Lineage, StolenTasks
from observatory.replay.pseudonyms import make_pseudonyms
from observatory.replay.scope import Scope
from observatory.store.keys import split_key
from observatory.store.queries import timeline
from observatory.store.times import seconds_to_microseconds
from tests.replay.conftest import make_cluster
from tests.support.observed_cluster import Observed, agent_server, observed
from tests.support.observed_tasks import HOSTILE
from tests.support.projects import World, world
from tests.support.recorded_cluster import START, Recorded
from tests.support.response_schemas import assert_documented

__all__ = ["agent_server", "observed", "world"]

pytestmark = pytest.mark.django_db(transaction=True)

WORKER = "tcp://10.1.2.3:4000"
PEER = "tcp://10.1.2.4:4000"
KEY = "('sum-2', 0)"


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return make_cluster(START - 100)


@pytest.fixture
def recorded(cluster: Cluster, direct: psycopg.Connection) -> Recorded:
    recorded = Recorded(direct, cluster.pk)
    recorded.worker(WORKER, "w0")
    return recorded


def span(recorded: Recorded, key: str, start: float, stop: float) -> None:
    recorded.span(key, WORKER, start, stop, group=split_key(key)[1])


def edge(recorded: Recorded, key: str, depends_on: str) -> None:
    recorded.dependency(key, depends_on, split_key(key)[1], split_key(depends_on)[1])


def read(direct: psycopg.Connection, scope: Scope, key: str) -> dict[str, Any]:
    with timeline.snapshot(direct):
        return lineage_of(direct, scope, key)


def keys(tasks: dict[str, Any]) -> list[str]:
    return [task["key"] for task in tasks["tasks"]]


def times(spans: list[dict[str, Any]]) -> list[tuple[float, float]]:
    return [(span["start"] - START, span["stop"] - START) for span in spans]


def test_a_task_has_its_dependencies_and_dependents_with_their_spans(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    span(recorded, "('load-1', 7)", 0, 1)
    span(recorded, KEY, 2, 3)
    span(recorded, "store", 4, 5)
    for key, depends_on in ((KEY, "('load-1', 7)"), ("store", KEY), ("other", "('load-1', 7)")):
        edge(recorded, key, depends_on)
    found = read(direct, Scope(cluster), KEY)
    assert times(found["spans"]) == [(2, 3)]
    assert found["prefix"] is not None
    [made_of] = found["dependencies"]["tasks"]
    assert (made_of["key"], times(made_of["spans"])) == ("('load-1', 7)", [(0, 1)])
    [made_from] = found["dependents"]["tasks"]
    assert (made_from["key"], times(made_from["spans"])) == ("store", [(4, 5)])
    assert (found["dependencies"]["total"], found["dependents"]["total"]) == (1, 1)


def test_an_edge_that_was_submitted_twice_counts_once_and_every_attempt_has_its_span(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    span(recorded, "a", 0, 1)
    recorded.worker(WORKER, "w0", died=4)
    recorded.worker(WORKER, "w0", started=5)
    span(recorded, "a", 6, 7)
    span(recorded, "b", 2, 3)
    span(recorded, "b", 8, 9)
    edge(recorded, "b", "a")
    edge(recorded, "b", "a")
    of_b, of_a = (read(direct, Scope(cluster), key) for key in ("b", "a"))
    assert times(of_b["spans"]) == [(2, 3), (8, 9)]
    assert of_b["dependencies"]["total"] == 1
    [a] = of_b["dependencies"]["tasks"]
    assert times(a["spans"]) == [(6, 7), (0, 1)], "the nearest to the last attempt comes first"
    assert len({span["lane"] for span in a["spans"]}) == 2, "each lifetime of a worker has lanes of its own"
    assert [times(task["spans"]) for task in of_a["dependents"]["tasks"]] == [[(8, 9), (2, 3)]]


def test_of_ten_thousand_dependents_the_nearest_are_listed_and_all_are_counted(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    span(recorded, "base", 0, 1)
    span(recorded, "part", 3, 4)
    edge(recorded, "part", "base")
    for table, change in (
        ("dependency", "'key_rest', chr(1) || '-' || number"),
        (
            "span",
            """'key_rest', chr(1) || '-' || number, 'start', start + number * interval '10 ms',
               'stop', stop + number * interval '10 ms'""",
        ),
    ):
        statement = f"""
            INSERT INTO {table} SELECT (made).* FROM (
                SELECT jsonb_populate_record({table}, jsonb_build_object({change})) AS made
                FROM {table} JOIN task_group ON task_group.id = group_id, generate_series(2, 10000) AS number
                WHERE {table}.cluster_id = %(cluster)s AND name = 'part') AS rows"""
        direct.execute(statement.encode(), {"cluster": cluster.pk})
    found = read(direct, Scope(cluster), "base")["dependents"]
    assert found["total"] == 10_000
    assert keys(found) == ["part", *(f"part-{number}" for number in range(2, MAXIMUM_TASKS + 1))]
    window = Scope(cluster, 0, seconds_to_microseconds(START + 50))
    assert read(direct, window, "base")["dependents"]["total"] == 4_699


def test_tasks_that_did_not_compute_are_listed_without_spans(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    edge(recorded, "waits", "data")
    found = read(direct, Scope(cluster), "waits")
    assert (found["prefix"], found["spans"]) == (None, [])
    [data] = found["dependencies"]["tasks"]
    assert (data["key"], data["spans"]) == ("data", [])


@pytest.mark.parametrize("key", [f"len-{HOSTILE}", "('x', 0, 'a b')", "%s %(key)s", "'; DROP TABLE span; --"])
def test_a_key_is_found_exactly_whatever_is_in_it(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection, key: str
) -> None:
    span(recorded, key, 0, 1)
    edge(recorded, key, "a")
    assert keys(read(direct, Scope(cluster), key)["dependencies"]) == ["a"]
    assert read(direct, Scope(cluster), f"{key} ")["dependencies"]["total"] == 0


def test_a_window_has_only_tasks_that_computed_in_it(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    for key, start in (("before", -20), ("first", 0), ("b", 2), ("after", 20)):
        span(recorded, key, start, start + 1.5)
    for key, depends_on in (("b", "before"), ("b", "first"), ("b", "never"), ("after", "b")):
        edge(recorded, key, depends_on)
    window = Scope(cluster, seconds_to_microseconds(START + 1), seconds_to_microseconds(START + 10))
    found = read(direct, window, "b")
    assert (keys(found["dependencies"]), found["dependencies"]["total"]) == (["first"], 1)
    assert times(found["dependencies"]["tasks"][0]["spans"]) == [(1, 1.5)]
    assert found["dependents"] == {"total": 0, "tasks": []}
    outside = read(direct, window, "after")
    assert (outside["spans"], outside["dependencies"]["total"]) == ([], 0)


def test_a_scope_with_pseudonyms_neither_shows_nor_confirms_an_address_in_a_key(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    named = f"load-{WORKER}"
    span(recorded, named, 0, 1)
    span(recorded, "b", 2, 3)
    edge(recorded, "b", named)
    hidden = Scope(cluster, is_public=True, pseudonyms=make_pseudonyms((), WORKER))
    assert keys(read(direct, Scope(cluster), "b")["dependencies"]) == [named]
    assert keys(read(direct, hidden, "b")["dependencies"]) == ["load-scheduler"]
    asked = read(direct, hidden, named)
    assert asked["spans"] == []
    assert "10.1.2.3" not in asked["key"]


def test_a_transfer_has_the_worker_it_came_from_as_it_was_then_and_what_it_brought(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    peer = recorded.worker(PEER, "w1", died=4)
    recorded.worker(PEER, "w1", started=30)
    sizes = {"a": 1000, f"load-{WORKER}": 24}
    recorded.transfer("b", WORKER, PEER, 1, 1.5, sizes, "b")
    recorded.transfer("b", WORKER, "tcp://10.9.9.9:1", 1, 1.25, {"c": 1}, "b")
    recorded.transfer("other", WORKER, PEER, 2, 2.5, {"d": 1}, "other")
    span(recorded, "b", 2, 3)
    unknown, known = read(direct, Scope(cluster), "b")["transfers"]
    assert (known["peer"], times([known]), known["nbytes"], known["count"]) == (peer, [(1, 1.5)], 1024, 2)
    assert sorted(item["key"] for item in known["keys"]) == sorted(sizes)
    assert (unknown["peer"], unknown["keys"]) == (None, [{"key": "c", "nbytes": 1}])
    hidden = Scope(cluster, is_public=True, pseudonyms=make_pseudonyms((), WORKER))
    assert "10.1.2.3" not in str(read(direct, hidden, "b"))
    window = Scope(cluster, seconds_to_microseconds(START + 1.75), seconds_to_microseconds(START + 10))
    assert read(direct, window, "b")["transfers"] == []


def test_a_steal_has_both_workers_and_the_costs_of_the_request_that_it_confirms(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    thief, victim = recorded.worker(PEER, "w1"), recorded.workers[WORKER]
    costs = {"cost": 0.1, "victim_occupancy": 5.0, "thief_occupancy": 0.5}
    recorded.steal("a", 1, "request", WORKER, PEER, "a", cost=9.0, victim_occupancy=9.0, thief_occupancy=9.0)
    recorded.steal("a", 2, "request", WORKER, PEER, "a", **costs)
    recorded.steal("a", 2.5, "confirm", WORKER, PEER, "a")
    recorded.steal("a", 3, "already-computing", PEER, WORKER, "a")
    recorded.steal("b", 4, "confirm", WORKER, "tcp://10.9.9.9:1", "b")
    [found] = read(direct, Scope(cluster), "a")["steals"]
    assert found == {"time": START + 2.5, "victim": victim, "thief": thief, **costs}
    [other] = read(direct, Scope(cluster), "b")["steals"]
    assert (other["thief"], other["cost"]) == (None, None)


def test_stolen_tasks_are_those_of_the_time_range_and_the_window_whose_steal_was_confirmed(
    recorded: Recorded, cluster: Cluster, member: Client, direct: psycopg.Connection
) -> None:
    thief, victim = recorded.worker(PEER, "w1"), recorded.workers[WORKER]
    named = f"load-{WORKER}"
    recorded.steal(named, 1, "confirm", WORKER, PEER, "load")
    recorded.steal("b", 2, "request", WORKER, PEER, "b")
    recorded.steal("b", 3, "confirm", PEER, "tcp://10.9.9.9:1", "b")
    answer = member.get(f"/api/v1/clusters/{cluster.pk}/stolen").json()
    assert_documented(StolenTasks, answer)
    first, second = answer["tasks"]
    assert answer["total"] == 2
    assert (first["key"], first["time"] - START, first["victim"], first["thief"]) == (named, 1, victim, thief)
    assert (second["key"], second["victim"], second["thief"]) == ("b", thief, None)
    url = f"/api/v1/clusters/{cluster.pk}/stolen?after={START + 2}&before={START + 3}"
    assert member.get(url).json() == {"total": 0, "tasks": []}
    start = seconds_to_microseconds(START)
    hidden = Scope(cluster, start, start + 2_000_000, is_public=True, pseudonyms=make_pseudonyms((), WORKER))
    [shown] = stolen_tasks(direct, hidden, 0, start + 9_000_000)["tasks"]
    assert shown["key"] == "load-scheduler"
    assert stolen_tasks(direct, hidden, start + 5_000_000, start + 9_000_000)["tasks"] == []


def test_of_more_than_a_thousand_stolen_tasks_the_first_are_listed_and_all_are_counted(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    recorded.steal("a", 0, "confirm", WORKER, PEER, "a")
    direct.execute(
        """INSERT INTO steal SELECT (made).* FROM (
               SELECT jsonb_populate_record(steal, jsonb_build_object(
                   'time', time + number * interval '10 ms', 'key_rest', number::text)) AS made
               FROM steal, generate_series(1, 1500) AS number WHERE cluster_id = %s) AS rows""",
        [cluster.pk],
    )
    found = stolen_tasks(direct, Scope(cluster), 0, 4 * 10**15)
    assert (found["total"], len(found["tasks"]), found["tasks"][0]["key"]) == (1501, 1000, "a")
    assert found["tasks"][-1]["key"] == "999"


def test_the_api_answers_as_documented_members_alone(
    recorded: Recorded, cluster: Cluster, member: Client, stranger: Client
) -> None:
    span(recorded, "a", 0, 1)
    edge(recorded, "b", "a")
    recorded.transfer("a", WORKER, PEER, 0, 0.5, {"d": 1}, "a")
    recorded.steal("a", 0, "confirm", WORKER, PEER, "a")
    url = f"/api/v1/clusters/{cluster.pk}/lineage"
    answer = member.get(f"{url}?key=a")
    assert_documented(Lineage, answer.json())
    assert keys(answer.json()["dependents"]) == ["b"]
    assert stranger.get(f"{url}?key=a").status_code == 404
    assert member.get(url).status_code == 422
    assert member.get(f"{url}?key={'x' * 2001}").status_code == 422


def test_the_lineage_of_a_real_run_is_what_its_agent_reported(observed: Observed, world: World) -> None:
    client, key = world.client("viewer"), f"len-{HOSTILE}"
    url = f"/api/v1/runs/{observed.run.pk}/timeline"
    found = client.get(f"{url}/lineage?{urlencode({'key': key})}").json()
    assert keys(found["dependencies"]) == ["make-1"]
    lanes = {lane["id"]: lane["worker"] for lane in client.get(f"{url}/lanes").json()["lanes"]}
    [span], [made] = found["spans"], found["dependencies"]["tasks"][0]["spans"]
    assert made["stop"] <= span["start"]
    assert lanes[made["lane"]] != lanes[span["lane"]]
    [transfer] = found["transfers"]
    assert transfer["peer"] == lanes[made["lane"]], "it came from the worker that had made it"
    assert (transfer["count"], [item["key"] for item in transfer["keys"]]) == (1, ["make-1"])
    assert transfer["nbytes"] >= 5_000_000
    of_made = client.get(f"{url}/lineage?key=make-1").json()
    assert keys(of_made["dependents"]) == [key]
