"""The list of live clusters: how each does now, what needs attention first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.utils.timezone import now

from observatory.alerts.models import RANKS
from observatory.alerts.web.flags import Flag, flags_of_clusters
from observatory.clusters.access import Person
from observatory.clusters.listing import ClusterFilter, find_clusters
from observatory.clusters.live.fleet import NO_FIGURES, Figures, Health, fleet_figures, health_of
from observatory.clusters.models import Cluster
from observatory.pages.site.csv import csv_response
from observatory.store.queries.extents import Extent, extents

MOST_CLUSTERS = 2_000
"""of which figures are shown: the newest"""
UNKNOWN = -1.0


@dataclass(frozen=True, slots=True)
class FleetRow:
    """A live cluster."""

    cluster: Cluster
    figures: Figures
    health: Health
    flags: list[Flag]
    """of the rules that fire"""
    extent: Extent | None

    @property
    def rank(self) -> int:
        """How much attention it needs: that of the worst of its health and alerts, 0 for none."""
        severities = [self.health.severity, *(flag.severity for flag in self.flags)]
        return max((RANKS[severity] + 1 for severity in severities if severity), default=0)

    @property
    def alerts(self) -> int:
        return sum(flag.count for flag in self.flags)


@dataclass(frozen=True, slots=True)
class FleetTotals:
    """All rows together."""

    clusters: int
    attention: int
    """rows that need it"""
    alerts: int
    busy: float
    threads: float
    memory: float
    memory_limit: float


def _share(part: float | None, whole: float | None) -> float:
    return UNKNOWN if part is None or not whole else part / whole


ORDERS: dict[str, Callable[[FleetRow], float | str]] = {
    "attention": lambda row: row.rank,
    "name": lambda row: row.cluster.name.lower(),
    "busy": lambda row: _share(row.figures.busy, row.figures.threads),
    "workers": lambda row: UNKNOWN if row.figures.workers is None else row.figures.workers,
    "memory": lambda row: _share(row.figures.memory, row.figures.memory_limit),
    "processing": lambda row: UNKNOWN if row.figures.processing is None else row.figures.processing,
    "rate": lambda row: UNKNOWN if row.figures.rate is None else row.figures.rate,
    "errors": lambda row: row.extent.errors if row.extent else 0,
}
"""by the value of the query parameter, where “-” means descending"""
DEFAULT_ORDER = "-attention"
COLUMNS = (
    ("name", "Cluster", ""),
    ("attention", "Recording and alerts", "-"),
    ("busy", "Busy threads", "-"),
    ("workers", "Workers", "-"),
    ("memory", "Memory", "-"),
    ("processing", "Processing", "-"),
    ("rate", "Tasks/s", "-"),
    ("errors", "Errors", "-"),
)
"""name in the query string, heading, prefix of the first sort order"""


def fleet_rows(user: Person, wanted: ClusterFilter, order: str) -> list[FleetRow]:
    """The live clusters that match, sorted; what is equal by what needs attention, then by name."""
    clusters = list(find_clusters(user, wanted)[:MOST_CLUSTERS])
    ids = [cluster.pk for cluster in clusters]
    figures, flags = fleet_figures(), flags_of_clusters(ids, only_firing=True)
    stored, at = extents(ids), now()
    rows = [
        _row(cluster, figures.get(cluster.pk, NO_FIGURES), flags.get(cluster.pk, []), stored, at)
        for cluster in clusters
    ]
    rows.sort(key=lambda row: (-row.rank, -row.alerts, row.cluster.name.lower(), -row.cluster.pk))
    rows.sort(key=ORDERS[order.removeprefix("-")], reverse=order.startswith("-"))
    return rows


def totals_of(rows: list[FleetRow]) -> FleetTotals:
    """Sums over rows; those without a figure count as 0."""
    return FleetTotals(
        clusters=len(rows),
        attention=sum(row.rank > 0 for row in rows),
        alerts=sum(row.alerts for row in rows),
        busy=sum(row.figures.busy or 0 for row in rows),
        threads=sum(row.figures.threads or 0 for row in rows),
        memory=sum(row.figures.memory or 0 for row in rows),
        memory_limit=sum(row.figures.memory_limit or 0 for row in rows),
    )


def order_of(text: str) -> str:
    """The order that a query string names, or the default."""
    return text if text.removeprefix("-") in ORDERS else DEFAULT_ORDER


def fleet_csv(rows: list[FleetRow]) -> HttpResponse:
    header = (
        *("id", "name", "project", "address", "started", "recording", "alerts", "busy threads", "threads"),
        *("workers", "memory", "memory limit", "processing", "tasks per second", "tasks", "errors"),
    )
    return csv_response("live clusters", header, map(_csv_row, rows))


def _csv_row(row: FleetRow) -> tuple[object, ...]:
    cluster, figures = row.cluster, row.figures
    return (
        cluster.pk,
        cluster.name,
        cluster.project.name,
        cluster.address,
        cluster.started,
        row.health.word,
        row.alerts,
        figures.busy,
        figures.threads,
        figures.workers,
        figures.memory,
        figures.memory_limit,
        figures.processing,
        figures.rate,
        row.extent.tasks if row.extent else 0,
        row.extent.errors if row.extent else 0,
    )


def _row(
    cluster: Cluster, figures: Figures, flags: list[Flag], stored: dict[int, Extent], at: datetime
) -> FleetRow:
    return FleetRow(cluster, figures, health_of(cluster, figures, at), flags, stored.get(cluster.pk))
