"""Reads the agents of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import psycopg

from observatory.wire.head import AgentStatus

STATUS_FIELDS = frozenset(field.name for field in fields(AgentStatus))


@dataclass(frozen=True, slots=True)
class StoredAgent:
    """An agent as of its last batch. Durations are seconds."""

    id: str
    cluster: int
    heard: float
    """when its last batch was stored, by the database's clock"""
    silence: float
    """since then"""
    behind: float | None
    """from the time up to which that batch reported to its commit; None: unknown"""
    dropped: int
    """records that it reported as dropped"""
    status: AgentStatus


def agents_of(connection: psycopg.Connection, clusters: Sequence[int]) -> list[StoredAgent]:
    """The newest agent of each cluster."""
    rows = connection.execute(
        """SELECT DISTINCT ON (cluster_id)
               id, cluster_id, extract(epoch FROM heard)::float8,
               greatest(0, extract(epoch FROM now() - heard))::float8,
               greatest(0, extract(epoch FROM heard - committed))::float8, dropped, status
           FROM agent WHERE cluster_id = ANY(%s) ORDER BY cluster_id, heard DESC""",
        [list(clusters)],
    )
    return [
        StoredAgent(id.hex, cluster, heard, silence, behind, dropped, _status(status))
        for id, cluster, heard, silence, behind, dropped, status in rows
    ]


def has_agent(connection: psycopg.Connection, cluster: int) -> bool:
    """Whether an agent reported of the cluster."""
    return cluster in with_agent(connection, [cluster])


def with_agent(connection: psycopg.Connection, clusters: Sequence[int]) -> set[int]:
    """Those of the clusters of which an agent reported."""
    query = "SELECT DISTINCT cluster_id FROM agent WHERE cluster_id = ANY(%s)"
    return {cluster for (cluster,) in connection.execute(query, [list(clusters)])}


def _status(stored: Mapping[str, Any]) -> AgentStatus:
    return AgentStatus(**{name: value for name, value in stored.items() if name in STATUS_FIELDS})
