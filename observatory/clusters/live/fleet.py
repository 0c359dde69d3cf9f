"""The live clusters in figures: whether they are recorded, and their newest samples."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from observatory.clusters.formatting import format_age, format_count
from observatory.clusters.live.status import target_status
from observatory.clusters.live.unheard import unheard_seconds, unheard_text
from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection
from observatory.store.queries.agents import agents_of
from observatory.store.queries.fleet import Gauge, newest_rates, newest_values
from observatory.wire.metrics import TASKS_COMPUTED

LIFETIME = 2.0
"""seconds for which a process gives the same figures to all who ask"""
NEWEST, INTERVALS = 60.0, 5
"""A figure is at most so many seconds, or sampling intervals, older than its cluster's newest record."""
GAUGES: Mapping[str, Gauge] = {
    "workers": ("observatory_cluster_workers", {"state": "total"}),
    "threads": ("observatory_cluster_threads", {}),
    "busy": ("observatory_cluster_busy_threads", {}),
    "memory": ("observatory_cluster_memory_bytes", {"type": "process"}),
    "memory_limit": ("observatory_cluster_memory_limit_bytes", {}),
    "processing": ("observatory_cluster_tasks", {"state": "processing"}),
}
"""by field of Figures"""
SEVERITIES = {
    "receiving": "",
    "paused": "info",
    "silent": "warning",
    "contested": "warning",
    "stolen": "warning",
    "yielded": "warning",
    "waiting": "critical",
    "unreachable": "critical",
    "disk-full": "critical",
    "not-stored": "critical",
}
"""by the word of a target's state; "" needs no attention"""
TEXTS = {
    "receiving": "recording",
    "silent": "no event stream",
    "contested": "event stream contested",
    "stolen": "event stream taken",
    "yielded": "event stream left to another",
    "waiting": "no collector",
    "disk-full": "disk full",
    "not-stored": "nothing stored",
}
"""for people; other words say it themselves"""


@dataclass(frozen=True, slots=True)
class Figures:
    """The newest figures of a cluster; None: not known."""

    workers: float | None = None
    threads: float | None = None
    busy: float | None = None
    """threads that compute"""
    memory: float | None = None
    """bytes of the workers' processes"""
    memory_limit: float | None = None
    processing: float | None = None
    """tasks"""
    rate: float | None = None
    """tasks that were computed per second, over the last minute"""
    dropped: int = 0
    """records that its agent dropped since it started"""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a cluster is being recorded."""

    word: str
    severity: str
    """info, warning or critical; "" needs no attention"""
    sentence: str


NO_FIGURES = Figures()

_lock = threading.Lock()
_figures: dict[int, Figures] = {}
_made = -LIFETIME


def fleet_figures() -> dict[int, Figures]:
    """The figures of all live clusters by id, at most LIFETIME seconds old.

    They are read once for all who ask meanwhile, in three queries, whatever the number of clusters.
    """
    global _figures, _made
    with _lock:
        if time.monotonic() - _made >= LIFETIME:
            _figures = _read_figures()
            _made = time.monotonic()
        return _figures


def health_of(cluster: Cluster, figures: Figures, at: datetime) -> Health:
    """How a live cluster is recorded, by the worst that is known of it. `at`: now."""
    if cluster.agent_silent is not None:
        heard = cluster.agent_heard or cluster.agent_silent
        age = format_age((at - heard).total_seconds())
        return Health("agent silent", "critical", f"Its agent was last heard {age}.")
    if cluster.collector_behind is not None:
        age = format_age((at - cluster.collector_behind).total_seconds())
        return Health("collector behind", "warning", f"What the collector reads is stored late, since {age}.")
    unheard = unheard_text(unheard_seconds(cluster, at.timestamp()))
    if cluster.agent_heard is not None and unheard:
        return Health("not heard", "info", f"Its agent was {unheard}.")
    if figures.dropped:
        sentence = f"Its agent dropped {format_count(figures.dropped)} records: the timeline has gaps."
        return Health("records dropped", "info", sentence)
    if cluster.agent_heard is not None or cluster.target is None:
        return Health(TEXTS["receiving"], "", "Its agent reports.")
    status = target_status(cluster.target)
    sentence = f"{status.sentence} ({unheard})" if unheard else status.sentence
    return Health(TEXTS.get(status.word, status.word), SEVERITIES[status.word], sentence)


def _read_figures() -> dict[int, Figures]:
    intervals = Cluster.objects.filter(ended=None, project__is_own=False).order_by()
    ages = {
        cluster: max(NEWEST, INTERVALS * interval)
        for cluster, interval in intervals.values_list("pk", "identity_interval")
    }
    with read_connection() as connection:
        values = newest_values(connection, ages, GAUGES)
        rates = newest_rates(connection, ages, TASKS_COMPUTED)
        agents = agents_of(connection, list(ages))
    dropped = {agent.cluster: agent.dropped for agent in agents}
    known = values.keys() | rates.keys() | dropped.keys()
    return {
        cluster: Figures(**values.get(cluster, {}), rate=rates.get(cluster), dropped=dropped.get(cluster, 0))
        for cluster in known
    }
