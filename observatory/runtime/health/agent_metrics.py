"""Metrics of the agents of live clusters."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
from django.db import DatabaseError
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric

from observatory.clusters.live.agents import live_agents

LABELS = ("project", "cluster", "agent")


def agent_metrics() -> Iterator[Metric]:
    """What an agent does not report is left out."""
    try:
        agents = live_agents()
    except (psycopg.Error, DatabaseError):
        return
    info = InfoMetricFamily("observatory_agent", "The version of an agent.", labels=LABELS)
    heard = GaugeMetricFamily(
        "observatory_agent_last_heard_timestamp_seconds", "When its last batch was stored.", labels=LABELS
    )
    behind = GaugeMetricFamily(
        "observatory_agent_lag_seconds", "By which its last batch was behind the cluster.", labels=LABELS
    )
    waiting = GaugeMetricFamily(
        "observatory_agent_waiting_batches", "Batches that are not acknowledged.", labels=LABELS
    )
    spooled = GaugeMetricFamily("observatory_agent_spool_bytes", "Batches on its disk.", labels=LABELS)
    dropped = CounterMetricFamily(
        "observatory_agent_dropped_records", "Records that it dropped.", labels=LABELS
    )
    failures = CounterMetricFamily("observatory_agent_failures", "Errors of the agent itself.", labels=LABELS)
    for agent in agents:
        labels = (agent.cluster.project.slug, agent.cluster.name, agent.stored.id)
        status = agent.status
        info.add_metric(labels, {"version": status.version or "unknown"})
        heard.add_metric(labels, agent.stored.heard)
        dropped.add_metric(labels, agent.dropped)
        for family, value in (
            (behind, agent.behind),
            (waiting, status.waiting),
            (spooled, status.spooled_bytes),
            (failures, status.failures),
        ):
            if value is not None:
                family.add_metric(labels, value)
    yield from (info, heard, behind, waiting, spooled, dropped, failures)
