"""What the collector reads and writes of Django's tables: targets and clusters. Times are seconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import F, Q
from django.utils import timezone

from observatory.clusters.models import Cluster, MetricHelp, Project, Target
from observatory.collect.scheduler.identity import Identity
from observatory.store.times import from_seconds
from observatory.wire.head import Head

PROVISIONAL = "unnamed:"
"""how the id of a scheduler starts that can't say its own yet"""
STARTING_UP = 30.0
"""seconds at most from the start of a process to that of its scheduler"""
STARTING = 2.0
"""seconds that a scheduler's start may lie before its process' start, by rounding"""
LONGEST_METRIC = 500
MOST_HELPS = 20_000
"""metrics whose meaning is kept, of all clusters"""


def cluster_of(target: Target, identity: Identity) -> tuple[Cluster, bool]:
    """The cluster of a scheduler that said its id, and whether it is new to us."""
    cluster, made = Cluster.objects.get_or_create(
        project_id=target.project_id,
        scheduler_id=identity.scheduler_id,
        defaults=_fields(target, identity.address, identity.started),
    )
    _observe(cluster, target)
    return cluster, made


def _observe(cluster: Cluster, target: Target) -> None:
    """Gives it a target where an agent reported of it first, or its target was deleted and added again."""
    if cluster.target_id is None:
        Cluster.objects.filter(pk=cluster.pk).update(target=target)
        cluster.target = target


def agents_cluster(project: Project, head: Head) -> Cluster:
    """The cluster that an agent reports of, which may have been scraped before its scheduler said its id."""
    scheduler_id = head.scheduler_id[:200]
    if (known := Cluster.objects.filter(project=project, scheduler_id=scheduler_id).first()) is not None:
        return known
    unnamed = Cluster.objects.filter(
        project=project,
        ended=None,
        address=head.address,
        scheduler_id__startswith=PROVISIONAL,
        started__gte=from_seconds(head.started - STARTING_UP),
    )
    if (scraped := unnamed.order_by("-started").first()) is not None:
        scraped.scheduler_id = scheduler_id
        scraped.save(update_fields=["scheduler_id"])
        return scraped
    cluster, _ = Cluster.objects.get_or_create(
        project=project,
        scheduler_id=scheduler_id,
        defaults={
            "name": head.name[:100] or head.scheduler_id[:100],
            "address": head.address,
            "started": from_seconds(head.started),
            "last_seen": from_seconds(head.since),
        },
    )
    return cluster


def heard_agent(cluster: Cluster, newest: float, is_last: bool) -> None:
    """Notes an agent's batch, whose newest record is of the time `newest`, and whether the cluster lives."""
    seen = max(cluster.last_seen, from_seconds(newest))
    fields: dict[str, Any] = {"last_seen": seen, "agent_heard": timezone.now()}
    if is_last:
        fields |= {"ended": seen, "end_reason": "the scheduler closed"}
    elif cluster.ended is not None and seen > cluster.ended:
        fields |= {"ended": None, "end_reason": ""}
    Cluster.objects.filter(pk=cluster.pk).update(**fields)
    for name, value in fields.items():
        setattr(cluster, name, value)


def silent_clusters(seconds: float) -> list[Cluster]:
    """Live clusters that no target observes and whose agents weren't heard for so long."""
    unobserved = Q(target=None) | Q(target__enabled=False)
    before = timezone.now() - timedelta(seconds=seconds)
    return list(Cluster.objects.filter(unobserved, ended=None, agent_heard__lt=before))


def _fields(target: Target, address: str, started: float) -> dict[str, Any]:
    return {
        "target": target,
        "name": target.name,
        "address": address,
        "started": from_seconds(started),
        "last_seen": from_seconds(started),
        "identity_interval": target.identity_interval,
        "metrics_interval": target.metrics_interval,
    }


def unnamed_cluster_of(target: Target, address: str, started: float) -> tuple[Cluster, bool]:
    """The cluster of a scheduler that can't say its id now, whose process started at `started`.

    It is the target's live one at the same address, or one that an agent told of, unless that started before
    this process did.
    """
    known = (
        Cluster.objects.filter(
            Q(target=target) | Q(target=None, agent_heard__isnull=False),
            project_id=target.project_id,
            ended=None,
            address=address,
            started__gte=from_seconds(started - STARTING),
        )
        .order_by("-started")
        .first()
    )
    if known is not None:
        _observe(known, target)
        return known, False
    scheduler_id = f"{PROVISIONAL}{address}:{started:.2f}"[:200]
    return Cluster.objects.get_or_create(
        project_id=target.project_id,
        scheduler_id=scheduler_id,
        defaults=_fields(target, address, started),
    )


def name_cluster(cluster: Cluster, identity: Identity) -> bool:
    """Gives an unnamed cluster the scheduler's id. False when that id has a cluster already."""
    others = Cluster.objects.filter(project_id=cluster.project_id, scheduler_id=identity.scheduler_id)
    if others.exclude(pk=cluster.pk).exists():
        return False
    cluster.scheduler_id = identity.scheduler_id
    cluster.started = from_seconds(identity.started)
    cluster.save(update_fields=["scheduler_id", "started"])
    return True


def is_unnamed(cluster: Cluster) -> bool:
    return cluster.scheduler_id.startswith(PROVISIONAL)


def alive(target: Target) -> list[Cluster]:
    """The target's clusters that nobody has ended."""
    return list(Cluster.objects.filter(target=target, ended=None))


def end_abandoned() -> None:
    """Ends the clusters that nobody observes any more, at the moment they were last seen."""
    nobodys = (Q(target=None) | Q(target__enabled=False)) & Q(agent_heard=None)
    reason = "no longer observed: its target was paused or deleted"
    Cluster.objects.filter(nobodys, ended=None).update(ended=F("last_seen"), end_reason=reason)


def end_cluster(cluster: int, ended: float, reason: str) -> None:
    Cluster.objects.filter(pk=cluster).update(ended=from_seconds(ended), end_reason=reason)


def reopen_cluster(cluster: int) -> None:
    Cluster.objects.filter(pk=cluster).update(ended=None, end_reason="")


def saw_cluster(cluster: int, last_seen: float, target: Target) -> None:
    """Notes that the cluster's scheduler answered, and how often it is asked."""
    Cluster.objects.filter(pk=cluster).update(
        last_seen=from_seconds(last_seen),
        identity_interval=target.identity_interval,
        metrics_interval=target.metrics_interval,
    )


def report(target: int, holder: str, fields: dict[str, Any]) -> None:
    """Writes what the collector that holds the lease reports of a target."""
    Target.objects.filter(pk=target, lease_holder=holder).update(**fields)


def describe(helps: Mapping[str, str]) -> None:
    """Keeps what metrics mean; what is known of one stays."""
    known = set(MetricHelp.objects.filter(name__in=helps).values_list("name", flat=True))
    new = [
        MetricHelp(name=name, help=help)
        for name, help in helps.items()
        if name not in known and len(name) <= LONGEST_METRIC and name.isprintable()
    ]
    room = max(0, MOST_HELPS - MetricHelp.objects.count())
    MetricHelp.objects.bulk_create(new[:room], ignore_conflicts=True)
