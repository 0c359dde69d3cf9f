"""The agents of live clusters: when each was heard, how far behind it is, what it keeps and dropped."""

from __future__ import annotations

from dataclasses import dataclass

from observatory.clusters.formatting import format_age, format_bytes, format_count, format_duration
from observatory.clusters.models import Cluster, Project
from observatory.store.connection import connect
from observatory.store.queries.agents import StoredAgent, agents_of
from observatory.wire.head import AgentStatus

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LiveAgent:
    """An agent with its figures. Times are seconds."""

    cluster: Cluster
    stored: StoredAgent

    @property
    def silence(self) -> float:
        """since its last batch"""
        return self.stored.silence

    @property
    def behind(self) -> float | None:
        """by which its last batch was behind the cluster"""
        return self.stored.behind

    @property
    def dropped(self) -> int:
        return self.stored.dropped

    @property
    def status(self) -> AgentStatus:
        return self.stored.status

    @property
    def heard_text(self) -> str:
        return format_age(self.silence)

    @property
    def behind_text(self) -> str:
        return UNKNOWN if self.behind is None else format_duration(self.behind)

    @property
    def spooled_text(self) -> str:
        """The size of its batches on disk."""
        size = self.status.spooled_bytes
        return UNKNOWN if size is None else format_bytes(size)

    @property
    def sentence(self) -> str:
        version = self.status.version or UNKNOWN
        return (
            f"version {version}, heard {self.heard_text}, behind by {self.behind_text}, "
            f"spooled {self.spooled_text}, dropped {format_count(self.dropped)} records"
        )


def live_agents(project: Project | None = None) -> list[LiveAgent]:
    """The agents of live clusters: all, or those of a project."""
    clusters = Cluster.objects.filter(ended=None, agent_heard__isnull=False)
    if project is not None:
        clusters = clusters.filter(project=project)
    by_id = {cluster.pk: cluster for cluster in clusters.select_related("project")}
    with connect() as connection:
        found = agents_of(connection, list(by_id))
    return [LiveAgent(by_id[stored.cluster], stored) for stored in found]
