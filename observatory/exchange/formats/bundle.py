"""Bundle: the whole run, for import into another Observatory."""

from __future__ import annotations

from typing import IO

from observatory.clusters.api import seconds
from observatory.clusters.models import Cluster
from observatory.exchange.bundles.attached_files import carried
from observatory.exchange.bundles.bundle import write_bundle
from observatory.exchange.bundles.manifest import ClusterFacts, NoteFacts, RunFacts
from observatory.exchange.formats.base import Progress
from observatory.replay.scope import Scope, Section
from observatory.runs.models import Note, Run
from observatory.store.connection import connect_reader
from observatory.store.queries.agents import has_agent
from observatory.store.queries.timeline import snapshot
from observatory.store.times import MAXIMUM_TIME, from_microseconds
from observatory.store.transfer.extracts import Extract
from observatory.wire.client_code.runs import BUNDLE_SUFFIX
from observatory.wire.kinds import stored_kinds

ROUNDED = 2
"""microseconds: what ended a run has the time of its end, which is rounded in two places"""


class BundleFormat:
    name = "bundle"
    label = "Bundle: everything, for import into another Observatory"
    suffix = BUNDLE_SUFFIX
    content_type = "application/zip"

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        hidden = {str(section) for section in Section if section not in scope.sections}
        with connect_reader() as connection, snapshot(connection):
            extract = Extract(
                connection,
                scope.cluster.pk,
                from_microseconds(scope.start),
                from_microseconds(min(scope.stop + ROUNDED, MAXIMUM_TIME)),
                without=frozenset(kind.name for kind in stored_kinds() if kind.part in hidden),
                emptied=frozenset(
                    (kind.name, column.name)
                    for kind in stored_kinds()
                    for column in kind.columns
                    if column.part in hidden
                ),
            )
            cluster = _cluster_facts(scope.cluster, has_agent(connection, scope.cluster.pk))
            run = _run_facts(scope, title)
            write_bundle(extract, run, cluster, _notes(scope), carried(scope), file, progress)


def _run_facts(scope: Scope, title: str) -> RunFacts:
    """With the tags and code of the run that has this window, if there is one."""
    facts = RunFacts(name=title, start=scope.start / 1e6, stop=scope.stop / 1e6)
    run = Run.objects.filter(cluster=scope.cluster, start=from_microseconds(scope.start), name=title).first()
    if run is None:
        return facts
    facts.tags = run.tags
    facts.outcome = run.outcome  # type: ignore[assignment]  # it is one of its choices
    if not scope.is_public:
        facts.user = run.user
    if Section.CODE in scope.sections:
        facts.code = run.code
    return facts


def _cluster_facts(cluster: Cluster, has_agent: bool) -> ClusterFacts:
    return ClusterFacts(
        name=cluster.name,
        scheduler_id=cluster.scheduler_id,
        address=cluster.address,
        started=cluster.started.timestamp(),
        identity_interval=cluster.identity_interval,
        metrics_interval=cluster.metrics_interval,
        has_agent=has_agent,
    )


def _notes(scope: Scope) -> list[NoteFacts]:
    """Without authors, who don't exist elsewhere. Public scopes have no notes: these can name people."""
    if scope.is_public:
        return []
    found = Note.objects.filter(
        cluster=scope.cluster,
        time__gte=from_microseconds(scope.start),
        time__lt=from_microseconds(scope.stop),
    )
    return [NoteFacts(time=note.time.timestamp(), stop=seconds(note.stop), text=note.text) for note in found]
