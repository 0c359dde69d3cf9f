"""The ready-made rules by which Observatory watches itself: its recording of clusters, and its installation.

What the rules themselves depend on, such as the database and Celery, is for the alert “Observatory itself”
(runtime/health/own_alert.py).
"""

from __future__ import annotations

from observatory.alerts.models import Severity
from observatory.alerts.rules.conditions import (
    Aggregate,
    By,
    Comparison,
    EventCondition,
    MetricCondition,
    NoData,
)
from observatory.alerts.rules.events import AGENT_SILENCE, COLLECTOR_LAG
from observatory.alerts.rules.quantities import BELOW, MINUTE, cluster, of
from observatory.alerts.rules.ready_made_rule import ReadyMade
from observatory.wire.event_kinds import RECORDS_DROPPED

GIB = 2.0**30

OWN_RULES = (
    ReadyMade(
        "agent-silent",
        "Agent silent",
        Severity.WARNING,
        "Nothing was heard from a cluster's agent for over a minute: it cannot reach Observatory, its "
        "batches are refused, or its scheduler hangs or is gone. Without a target the cluster ends after "
        "two minutes, and the alert with it.",
        "Look at the scheduler's log, where the agent says why it cannot send, and at the project's page, "
        "which lists refused batches. The agent keeps its records and sends them later.",
        "{cluster}: {text}",
        (EventCondition(AGENT_SILENCE.name, By.CLUSTER),),
        15.0,
    ),
    ReadyMade(
        "collector-behind",
        "Collector behind",
        Severity.WARNING,
        "What the collector reads of a cluster is stored over a minute late, so that pages and other alerts "
        "are late, too.",
        "Look at the collector's log: too many targets for one collector, or a slow database. Run another "
        "collector, or increase the target's intervals.",
        "{cluster}: {text}",
        (EventCondition(COLLECTOR_LAG.name, By.CLUSTER),),
        15.0,
    ),
    ReadyMade(
        "records-dropped",
        "Records dropped",
        Severity.WARNING,
        "Records of a cluster were dropped before they were stored: a buffer was full, or they were refused. "
        "The time is hatched on the timeline.",
        "The message names the reason. Give the agent a larger buffer or spool (see agent.md), or the "
        "database and the collectors more capacity.",
        "{cluster}: {text}",
        (EventCondition(RECORDS_DROPPED, By.CLUSTER, window=10 * MINUTE),),
    ),
    ReadyMade(
        "disk-filling",
        "Observatory's disk",
        Severity.WARNING,
        "Less than 5 GiB are free on the disk of Observatory's data folder. Recording stops when it is full.",
        "Free disk space, or shorten the projects' retention.",
        "{value} are free on the disk of Observatory's data folder",
        (cluster(of("observatory_disk_free_bytes"), 5 * GIB, 6 * GIB, comparison=BELOW),),
        MINUTE,
        NoData.KEEP,
    ),
    ReadyMade(
        "quota-filling",
        "A project's quota",
        Severity.WARNING,
        "A project has used over 80 % of its quota. Beyond it the oldest records of its runs go, but for "
        "pinned and shared ones.",
        "Delete or unpin runs that nobody needs, shorten the project's retention, or raise the quota.",
        "{value} of a project's quota are used: {labels}",
        (
            MetricCondition(
                of("observatory_project_quota_ratio"), By.SERIES, Aggregate.MAX, Comparison.ABOVE, 0.8
            ),
        ),
        MINUTE,
        NoData.KEEP,
    ),
    ReadyMade(
        "tasks-waiting",
        "Observatory's tasks",
        Severity.WARNING,
        "Over 100 of Celery's tasks have been waiting for five minutes, though they are worked on: tiles, "
        "runs and exports are late.",
        "Run another Celery worker, or see its log for tasks that take long.",
        "{value} tasks of Observatory are waiting",
        (
            cluster(of("observatory_celery_queue_length"), 100, 50),
            # a worker that does nothing is for the alert “Observatory itself”
            cluster(of("observatory_celery_beat_age_seconds"), MINUTE, comparison=BELOW),
        ),
        5 * MINUTE,
        NoData.KEEP,
    ),
    ReadyMade(
        "agents-refused",
        "Agents refused",
        Severity.WARNING,
        "Batches of an agent are refused: its token is unknown or revoked, or its version is another. "
        "Nothing is recorded of its cluster.",
        "Correct the agent's token or version. `dask-observatory doctor` and the project's page have the "
        "address and the reason.",
        "an agent is refused: {labels}",
        (MetricCondition(of("observatory_refused_agents"), By.SERIES, Aggregate.SUM, Comparison.ABOVE, 0),),
        2 * MINUTE,
    ),
)
