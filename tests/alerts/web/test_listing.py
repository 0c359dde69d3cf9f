"""Which alerts a person finds, in which order, and what fires of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from observatory.alerts.web.flags import flags_of_clusters, flags_of_runs
from observatory.alerts.web.listing import ORDERS, AlertFilter, FiringCounts, Tally, find_alerts, firing
from observatory.clusters.listing import ClusterFilter, find_clusters
from observatory.runs.listing import RunFilter, find_runs
from tests.support.projects import World, make_run
from tests.support.stored_alerts import make_alert


@pytest.fixture
def alerts(world: World) -> World:
    """Of the live cluster one that fires, one that is pending and one that is over; one of Beta's."""
    make_alert(world.live, "memory pressure", 60, 70, severity="critical", message="w1 is at 97 %")
    make_alert(world.live, "event loop blocked", 100, None, labels={"worker": "gpu-7"})
    make_alert(world.ended, "worker lost", 10, 10, 600, severity="info")
    make_alert(world.elsewhere, "secret of beta")
    return world


def rules(world: World, role: str = "viewer", **wanted: Any) -> set[str]:
    return {alert.rule.name for alert in find_alerts(world.people[role], AlertFilter(**wanted))}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, {"memory pressure", "event loop blocked", "worker lost"}),
        ({"state": "firing"}, {"memory pressure"}),
        ({"state": "pending"}, {"event loop blocked"}),
        ({"state": "resolved"}, {"worker lost"}),
        ({"severity": "critical"}, {"memory pressure"}),
        ({"rule": "worker lost"}, {"worker lost"}),
        ({"project": "beta"}, set()),
        ({"text": "97"}, {"memory pressure"}),
        ({"text": "GPU-7 blocked"}, {"event loop blocked"}),
        ({"text": "evening"}, {"worker lost"}),
        ({"text": "%"}, {"memory pressure"}),
    ],
)
def test_alerts_are_filtered(alerts: World, wanted: dict[str, Any], found: set[str]) -> None:
    assert rules(alerts, **wanted) == found


def test_alerts_are_filtered_by_cluster_and_time(alerts: World) -> None:
    assert rules(alerts, cluster=alerts.ended.pk) == {"worker lost"}
    began = alerts.ended.started
    of_ended = {"cluster": alerts.ended.pk}
    assert rules(alerts, **of_ended, since=began + timedelta(seconds=599))
    assert not rules(alerts, **of_ended, since=began + timedelta(seconds=601))
    assert not rules(alerts, **of_ended, until=began + timedelta(seconds=10))
    # what is open was open ever since
    assert rules(alerts, cluster=alerts.live.pk, since=began + timedelta(days=3000))


def test_users_see_the_alerts_of_their_projects_and_superusers_all(alerts: World) -> None:
    assert rules(alerts, "nobody") == set()
    assert rules(alerts, "outsider") == {"secret of beta"}
    assert len(rules(alerts, "superuser")) == 4


@pytest.mark.parametrize("order", ORDERS)
def test_alerts_are_sorted_both_ways(alerts: World, order: str) -> None:
    viewer = alerts.people["viewer"]
    turned = order.removeprefix("-") if order.startswith("-") else f"-{order}"
    found = [list(find_alerts(viewer, AlertFilter(order=one))) for one in (order, turned)]
    assert len(found[0]) == 3
    if "cluster" not in order:
        assert found[0] == found[1][::-1]
    worst = find_alerts(viewer, AlertFilter(order="-severity"))
    assert [alert.severity for alert in worst] == ["critical", "warning", "info"]


def test_firing_alerts_are_counted_with_their_highest_severity(alerts: World) -> None:
    make_alert(alerts.ended, "disk usage", severity="warning")
    here, nothing = Tally(1, "critical"), Tally(0, "")
    assert firing(alerts.people["viewer"], alerts.live.pk) == FiringCounts(here, Tally(1, "warning"))
    assert firing(alerts.people["viewer"], None) == FiringCounts(nothing, Tally(2, "critical"))
    assert firing(alerts.people["nobody"], alerts.live.pk) == FiringCounts(nothing, nothing)


FILL = """
    INSERT INTO alerts_alert (rule_id, cluster_id, severity, labels, fingerprint, state, pending, fired,
                              resolved, message, is_late, acknowledgement, finding)
    SELECT %s, %s, 'warning', '{}', number::text, 'resolved', at, at, at, '', false, '', ''
    FROM generate_series(1, 50000) AS number,
         LATERAL (SELECT now() - number * interval '1 minute' AS at) AS time
"""


def test_counting_firing_alerts_does_not_read_resolved_ones(alerts: World) -> None:
    [over] = find_alerts(alerts.people["viewer"], AlertFilter(state="resolved"))
    with CaptureQueriesContext(connection) as asked, connection.cursor() as cursor:
        cursor.execute(FILL, [over.rule_id, over.cluster_id])
        cursor.execute("ANALYZE alerts_alert")
        assert firing(alerts.people["viewer"], None).elsewhere.count == 1
        cursor.execute(f"EXPLAIN {asked[-1]['sql']}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "alerts_open" in plan, plan
    assert len(asked) == 4


def test_flags_of_a_cluster_are_sorted_by_firing_and_severity(alerts: World) -> None:
    for at in (200, 300):
        make_alert(alerts.live, "worker lost", at, at, at + 60, severity="info")
    make_alert(alerts.live, "worker lost", 400, 400, 460, severity="critical")
    flags = flags_of_clusters([alerts.live.pk, alerts.ended.pk, alerts.elsewhere.pk])
    notified = [(flag.name, flag.severity, flag.count, flag.is_firing) for flag in flags[alerts.live.pk]]
    assert notified == [("memory pressure", "critical", 1, True), ("worker lost", "critical", 3, False)]
    assert [flag.name for flag in flags[alerts.ended.pk]] == ["worker lost"]


def test_flags_of_a_run_are_limited_to_its_window(alerts: World) -> None:
    """The alert of “evening” fires from its 10th to its 600th second."""
    before, during, after = (
        make_run(alerts.ended, name, at, 1) for name, at in [("a", -1), ("b", 5), ("c", 10)]
    )
    goes_on = make_run(alerts.live, "goes on", 0, None)
    flags = flags_of_runs([run.pk for run in (before, during, after, goes_on, alerts.run)])
    assert {run: [flag.name for flag in found] for run, found in flags.items()} == {
        during.pk: ["worker lost"],
        goes_on.pk: ["memory pressure"],
        alerts.run.pk: ["memory pressure"],
    }


def test_runs_and_clusters_are_filtered_by_fired_rules(alerts: World) -> None:
    make_alert(alerts.ended, "worker lost", 20, 20, 300)
    make_run(alerts.ended, "b", 2, 1)
    make_run(alerts.ended, "c", 15, 1)
    viewer = alerts.people["viewer"]
    assert [run.name for run in find_runs(viewer, RunFilter(alert="worker lost"))] == ["b"]
    assert [run.name for run in find_runs(viewer, RunFilter(alert="memory pressure"))] == ["nightly of alpha"]
    assert list(find_clusters(viewer, ClusterFilter(alert="worker lost"))) == [alerts.ended]
    # what is pending hasn't fired
    assert not find_clusters(viewer, ClusterFilter(alert="event loop blocked"))
    assert not find_clusters(viewer, ClusterFilter(alert="secret of beta"))


def test_flags_of_a_page_take_a_query_and_another_for_alerts_about_runs(alerts: World) -> None:
    with CaptureQueriesContext(connection) as asked:
        flags_of_clusters([alerts.live.pk, alerts.ended.pk])
        flags_of_runs([alerts.run.pk])
    assert len(asked) == 3
