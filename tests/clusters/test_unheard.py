"""After which time a live cluster counts as not heard."""

from __future__ import annotations

import math

import pytest

from observatory.clusters.live.unheard import unheard_seconds, unheard_text
from observatory.clusters.models import Cluster, Target
from observatory.store.times import from_seconds

NOW = 1_800_000_000.0


def cluster(
    heard: float, *, is_agent: bool = True, target: Target | None = None, **fields: object
) -> Cluster:
    """A live cluster that was heard so many seconds ago: by its agent, or by the collector of its target."""
    last = from_seconds(NOW - heard)
    return Cluster(agent_heard=last if is_agent else None, last_seen=last, target=target, **fields)


def observed(error: str = "", lease: float = 5.0, offset: float = 0.0, *, enabled: bool = True) -> Target:
    """A target whose collector has it for another `lease` seconds."""
    expires = from_seconds(NOW + lease)
    return Target(last_error=error, lease_expires=expires, clock_offset=offset, enabled=enabled)


@pytest.mark.parametrize(
    ("heard", "interval", "is_told"),
    [(9, 1, False), (11, 1, True), (40, 15, False), (46, 15, True), (61, 3600, True)],
)
def test_an_agent_and_a_prometheus_are_missed_after_a_few_reports(
    heard: float, interval: float, is_told: bool
) -> None:
    found = unheard_seconds(cluster(heard, identity_interval=interval), NOW)
    assert found == (heard if is_told else 0)


@pytest.mark.parametrize(
    ("target", "seconds"),
    [
        (observed(), 0),
        (observed("connection refused"), 8),
        (observed("connection refused", offset=2.0), 10),
        (observed("connection refused", enabled=False), 0),
        (observed(lease=-1.0), 8),
    ],
    ids=["it answers", "a request failed", "its clock is ahead", "paused", "no collector"],
)
def test_a_scheduler_is_missed_from_the_first_request_that_fails(target: Target, seconds: float) -> None:
    found = unheard_seconds(cluster(8, is_agent=False, target=target), NOW)
    assert math.isclose(found, seconds, abs_tol=1e-3)


def test_one_request_that_fails_right_after_an_answer_tells_nothing() -> None:
    assert unheard_seconds(cluster(1, is_agent=False, target=observed("timed out")), NOW) == 0


def test_a_cluster_that_ended_is_not_missed() -> None:
    ended = cluster(500, ended=from_seconds(NOW - 400))
    assert unheard_seconds(ended, NOW) == 0


def test_its_text() -> None:
    assert (unheard_text(40.4), unheard_text(0.0)) == ("last heard 40 s ago", "")
