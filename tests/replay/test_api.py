"""The API of the timeline: lanes, spans, invalid parameters, and who has access."""

from __future__ import annotations

import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay.cluster_info import lanes
from observatory.replay.scope import Scope
from observatory.store.ingest.writer import Writer
from observatory.store.times import seconds_to_microseconds
from tests.replay.records import A, fill


def test_the_lanes_say_how_long_each_prefix_computed_in_the_scope(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    prefixes = member.get(f"/api/v1/clusters/{cluster.pk}/lanes").json()["prefixes"]
    assert [prefix["seconds"] for prefix in prefixes] == pytest.approx([10.25, 5.0])
    window = Scope(cluster, seconds_to_microseconds(now + 1.5), seconds_to_microseconds(now + 9))
    within = {prefix["name"]: prefix["seconds"] for prefix in lanes(window)["prefixes"]}
    assert within["inc"] == 0.0, "its task of the window stops later"
    assert sum(within.values()) == pytest.approx(5.0)


def test_the_span_of_a_lane_at_a_time_has_its_full_key(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
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
def test_invalid_parameters_are_refused_and_named(
    member: Client, cluster: Cluster, path: str, named: str
) -> None:
    response = member.get(f"/api/v1/clusters/{cluster.pk}/{path}")
    assert response.status_code == 422
    assert named in response.content.decode()


PATHS = ("", "/lanes", "/tiles/spans/20/1", "/state?at=1800000000", "/span?lane=1&at=1800000000", "/events")


@pytest.mark.parametrize("path", PATHS)
def test_non_members_get_404(stranger: Client, cluster: Cluster, path: str) -> None:
    assert stranger.get(f"/api/v1/clusters/{cluster.pk}{path}").status_code == 404


@pytest.mark.parametrize("path", PATHS)
def test_anonymous_users_get_401(cluster: Cluster, path: str) -> None:
    assert Client().get(f"/api/v1/clusters/{cluster.pk}{path}").status_code == 401
