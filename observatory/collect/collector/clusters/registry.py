"""Queries and updates of the tables of targets and clusters. Times are seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from observatory.clusters.end_reasons import CLOSED, TARGET_DELETED, TARGET_PAUSED
from observatory.clusters.models import Cluster, MetricHelp, Project, Target
from observatory.collect.scheduler.identity import Identity
from observatory.store.compiled_lookup import CompiledLookup
from observatory.store.heard_clusters import note_heard
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.joint_writer import JointWriter
from observatory.store.ingest.source_limits import SOURCE_LIMITS, Rows, SourceLimit
from observatory.store.times import from_seconds
from observatory.wire.event_kinds import CLUSTER_ENDED
from observatory.wire.head import Head
from observatory.wire.records import Event

PROVISIONAL = "unnamed:"
"""Prefix of the provisional id of a scheduler whose own id is not known yet."""
STARTING_UP = 30.0
"""Most seconds between the start of a process and the start of its scheduler."""
STARTING = 2.0
"""Seconds that a scheduler may appear to start before its process, because of rounding."""
LONGEST_METRIC = 500
MOST_CLUSTERS = 50_000
"""of a project; its agents make no further ones"""
MAXIMUM_HELP_TEXTS = 20_000
"""Most metrics whose help text is kept, of all clusters."""

BY_SCHEDULER = CompiledLookup(Cluster, {"project": -1, "scheduler_id": "<scheduler>"})


class TooManyClusters(Exception):
    """The project may have no further cluster that an agent reports."""

    def __init__(self) -> None:
        super().__init__(f"the project has {MOST_CLUSTERS} clusters: delete old ones")


def cluster_of(target: Target, identity: Identity) -> tuple[Cluster, bool]:
    """The cluster of a scheduler with a known id, and whether it was created."""
    cluster, created = Cluster.objects.get_or_create(
        project_id=target.project_id,
        scheduler_id=identity.scheduler_id,
        defaults=_fields(target, identity.address, identity.started),
    )
    _assign_target(cluster, target)
    return cluster, created


def _assign_target(cluster: Cluster, target: Target) -> None:
    """Sets the target of a cluster that has none: an agent was first, or its target was deleted."""
    if cluster.target_id is None:
        Cluster.objects.filter(pk=cluster.pk).update(target=target)
        cluster.target = target


def cluster_of_agent(project: Project, head: Head) -> tuple[Cluster, bool]:
    """The cluster that an agent reports, and whether it was created.

    It may already exist under a provisional id, or unnamed: the agent may learn its name later.
    Raises TooManyClusters and TooManyNew.
    """
    scheduler_id = head.scheduler_id[:200]
    if (known := BY_SCHEDULER.find(project.pk, scheduler_id)) is not None:
        if _name_of(head) and known.name == _default_name(head):
            known.name = _name_of(head)
            known.save(update_fields=["name"])
        return known, False
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
        return scraped, False
    if Cluster.objects.filter(project=project).count() >= MOST_CLUSTERS:
        raise TooManyClusters
    SOURCE_LIMITS.require(source_of(project), Rows.CLUSTERS, 1)
    return Cluster.objects.get_or_create(
        project=project,
        scheduler_id=scheduler_id,
        defaults={
            "name": _name_of(head) or _default_name(head),
            "address": head.address,
            "started": from_seconds(head.started),
            "last_seen": from_seconds(head.since),
            "agent_heard": timezone.now(),
        },
    )


def source_of(project: Project) -> SourceLimit:
    """All agents of a project are one source, and keep what is refused for now."""
    return SourceLimit(f"project {project.pk}", can_wait=True)


def _name_of(head: Head) -> str:
    """The cluster's name; "" if the agent does not know any. Older agents send the scheduler's id then."""
    return "" if head.name == head.scheduler_id else head.name[:100]


def _default_name(head: Head) -> str:
    """Of a cluster without a name: when it began."""
    return f"cluster of {from_seconds(head.started):%H:%M}"


def update_from_agent(cluster: Cluster, newest: float, is_last: bool, is_over: bool = False) -> None:
    """Updates a cluster after an agent's batch. `newest`: time of its newest record.

    `is_over`: the agent's process is over, and its batch was left on its disk. That is no sign of life.
    """
    seen = max(cluster.last_seen, from_seconds(newest))
    fields: dict[str, Any] = {"last_seen": seen}
    if not is_over:
        fields["agent_heard"] = timezone.now()
    if is_last:
        fields |= {"ended": seen, "end_reason": CLOSED}
    elif is_over and cluster.ended is not None:
        fields["ended"] = max(cluster.ended, seen)
    elif cluster.ended is not None and seen > cluster.ended:
        fields |= {"ended": None, "end_reason": ""}
    Cluster.objects.filter(pk=cluster.pk).update(**fields)
    for name, value in fields.items():
        setattr(cluster, name, value)


def update_from_agents(reports: Sequence[tuple[Cluster, float, Head]]) -> None:
    """Updates clusters after batches of their agents; of each the time of its newest record, and its head."""
    live: dict[int, float] = {}
    for cluster, newest, head in reports:
        if head.is_last or head.status.is_over or cluster.ended is not None:
            update_from_agent(cluster, newest, head.is_last, head.status.is_over)
        else:
            live[cluster.pk] = max(newest, live.get(cluster.pk, newest))
    note_heard(live)


def silent_clusters(seconds: float) -> list[Cluster]:
    """Live clusters whose agents sent nothing for `seconds`."""
    before = timezone.now() - timedelta(seconds=seconds)
    return list(Cluster.objects.filter(ended=None, agent_heard__lt=before))


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
    """The cluster of a scheduler without a known id, whose process started at `started`; whether it is new.

    It is the target's live cluster at the same address, or one reported by an agent, unless that started
    before this process.
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
        _assign_target(known, target)
        return known, False
    scheduler_id = f"{PROVISIONAL}{address}:{started:.2f}"[:200]
    return Cluster.objects.get_or_create(
        project_id=target.project_id,
        scheduler_id=scheduler_id,
        defaults=_fields(target, address, started),
    )


def name_cluster(cluster: Cluster, identity: Identity) -> bool:
    """Replaces a provisional id by the scheduler's own. False when another cluster has that id."""
    others = Cluster.objects.filter(project_id=cluster.project_id, scheduler_id=identity.scheduler_id)
    if others.exclude(pk=cluster.pk).exists():
        return False
    cluster.scheduler_id = identity.scheduler_id
    cluster.started = from_seconds(identity.started)
    cluster.save(update_fields=["scheduler_id", "started"])
    return True


def is_unnamed(cluster: Cluster) -> bool:
    """Whether the cluster has a provisional id."""
    return cluster.scheduler_id.startswith(PROVISIONAL)


def live_clusters(target: Target) -> list[Cluster]:
    """The target's clusters that have not ended."""
    return list(Cluster.objects.filter(target=target, ended=None))


def end_abandoned() -> None:
    """Ends clusters that are no longer observed, at the time they were last seen.

    Raises psycopg.OperationalError without a database.
    """
    unobserved = (Q(target=None) | Q(target__enabled=False)) & Q(agent_heard=None, project__is_own=False)
    ends = {
        cluster.pk: (
            cluster.last_seen.timestamp(),
            TARGET_DELETED if cluster.target_id is None else TARGET_PAUSED,
        )
        for cluster in Cluster.objects.filter(unobserved, ended=None)
    }
    batches = [
        Batch.of(cluster, events=[Event(ended, CLUSTER_ENDED, "", {"message": reason})])
        for cluster, (ended, reason) in ends.items()
    ]
    with JointWriter() as writer:
        results = writer.write_together(batches)
    for (cluster, end), result in zip(ends.items(), results, strict=True):
        if not isinstance(result, Exception):
            end_cluster(cluster, *end)
    for result in results:
        if isinstance(result, Exception):
            raise result


def end_cluster(cluster: int, ended: float, reason: str) -> dict[str, Any]:
    """Ends a cluster that is live: the end that its agent reported stays. Returns the stored Cluster.end."""
    Cluster.objects.filter(pk=cluster, ended=None).update(ended=from_seconds(ended), end_reason=reason)
    return end_of(cluster) or {"ended": ended, "end_reason": reason}


def end_of(cluster: int) -> dict[str, Any] | None:
    """The Cluster.end of a cluster; None while it is live."""
    found = Cluster.objects.filter(pk=cluster).exclude(ended=None).first()
    return found.end if found else None


def reopen_cluster(cluster: int) -> None:
    Cluster.objects.filter(pk=cluster).update(ended=None, end_reason="")


class MetricHelps:
    """Stores the help texts of metrics; existing texts are kept. For one thread."""

    def __init__(self) -> None:
        self._stored: set[str] = set()
        """Metrics that need no text any more: those of a thousand clusters are mostly the same."""

    def store(self, texts: Mapping[str, str]) -> None:
        unknown = {name: help for name, help in texts.items() if name not in self._stored}
        if unknown:
            store_metric_help(unknown)
            if len(self._stored) > MAXIMUM_HELP_TEXTS:
                self._stored.clear()
            self._stored.update(unknown)


def store_metric_help(texts: Mapping[str, str]) -> None:
    """Stores the help texts of metrics; existing texts are kept."""
    known = set(MetricHelp.objects.filter(name__in=texts).values_list("name", flat=True))
    new = [
        MetricHelp(name=name, help=help)
        for name, help in texts.items()
        if name not in known and len(name) <= LONGEST_METRIC and name.isprintable()
    ]
    free = max(0, MAXIMUM_HELP_TEXTS - MetricHelp.objects.count())
    MetricHelp.objects.bulk_create(new[:free], ignore_conflicts=True)
