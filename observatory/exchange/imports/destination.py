"""The cluster and the run that a file becomes, in the project that was chosen."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from observatory.clusters.end_reasons import IMPORTED
from observatory.clusters.models import Cluster, Project
from observatory.exchange.bundles.manifest import ClusterFacts, NoteFacts, RunFacts
from observatory.exchange.imports.refusal import AlreadyHere
from observatory.runs.models import Note, Run
from observatory.store.texts import clean_name
from observatory.store.times import from_seconds
from observatory.wire.records import clean_text


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a file's run goes."""

    project: Project
    user: User | None = None
    name: str = ""
    """of the run; "": the one in the file"""


def scheduler_id(digest: str) -> str:
    """Stands for the scheduler's own id, so that what is imported is there once a project."""
    return f"imported-{digest[:32]}"


def refuse_known(destination: Destination, digest: str) -> None:
    """Raises AlreadyHere where the project has the file's run."""
    found = Run.objects.filter(
        cluster__project=destination.project, cluster__scheduler_id=scheduler_id(digest)
    ).first()
    if found is not None:
        raise AlreadyHere(found.pk)


def make_run(
    destination: Destination,
    digest: str,
    run: RunFacts,
    cluster: ClusterFacts,
    notes: list[NoteFacts],
    cluster_id: int | None = None,
) -> Run:
    """Makes a cluster that ended, its run and its notes. Raises AlreadyHere."""
    stop = from_seconds(run.stop)
    try:
        with transaction.atomic():
            made = Cluster.objects.create(
                pk=cluster_id,
                project=destination.project,
                scheduler_id=scheduler_id(digest),
                name=clean_text(cluster.name, 100),
                address=clean_name(cluster.address),
                started=min(from_seconds(cluster.started), stop),
                last_seen=stop,
                ended=stop,
                end_reason=IMPORTED,
                identity_interval=cluster.identity_interval,
                metrics_interval=cluster.metrics_interval,
            )
            Note.objects.bulk_create(_note(made, note) for note in notes)
            return Run.objects.create(
                cluster=made,
                name=destination.name or clean_text(run.name, 200),
                origin=Run.Origin.IMPORTED,
                outcome=Run.Outcome.FINISHED if run.outcome == "running" else run.outcome,
                start=from_seconds(run.start),
                stop=stop,
                user=clean_text(run.user, 100),
                tags=run.tags,
                code=clean_text(run.code, len(run.code) or 1),
                pinned=True,
                created_by=destination.user,
            )
    except IntegrityError:
        refuse_known(destination, digest)
        raise


def _note(cluster: Cluster, note: NoteFacts) -> Note:
    stop = from_seconds(note.stop) if note.stop else None
    return Note(cluster=cluster, time=from_seconds(note.time), stop=stop, text=clean_text(note.text, 2000))
