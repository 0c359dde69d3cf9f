"""Finds the tasks in a run's window that other clients, or other runs of the run's client, submitted.

Only agents record who submitted a graph, in which of its runs, and which client opened a run: without them,
all tasks of the window count as the run's. So do tasks of unknown origin, those that a task submitted
(`worker_client`), and those that a run's client submitted out of its runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

import psycopg

from observatory.store.archive.scans.conditions import Condition, OneOf
from observatory.store.queries.windows.workers.environment import DESCRIBED_WITHIN, client_detail_of_run
from observatory.store.reading.scanning import scanned
from observatory.wire.client_code.runs import OF_WORKER
from observatory.wire.event_kinds import CLIENT_DESCRIBED, GRAPH_UPDATED, RUNS

SUBMITTED_BEFORE = timedelta(days=1)
MOST_COMPUTATIONS = 20_000
"""that are looked at: the last before the window's end"""
TASK: LiteralString = "hash_record_extended(ROW({0}.group_id, {0}.key_rest), 0)"
"""the number of a task in the columns of a window: of its key, in a table named {0}"""
IS_OTHER: LiteralString = f"""({{0}}.group_id = ANY(%(other_groups)s::int[])
    OR ({{0}}.group_id = ANY(%(shared_groups)s::int[])
        AND {TASK} IN (SELECT unnest(%(other_tasks)s::bigint[]))))"""
IS_OWN: LiteralString = """((client IN (%(client)s, '') OR client LIKE %(of_worker)s)
    AND time <> ALL(%(other_graphs)s::timestamptz[]))"""
OTHER_GRAPHS: LiteralString = f"""
    SELECT time FROM event
    WHERE cluster_id = %(cluster)s AND kind = %(graph_updated)s AND time >= %(earliest)s AND time < %(stop)s
        AND jsonb_typeof(detail->'{RUNS}') = 'array' AND NOT detail->'{RUNS}' ? %(run)s
    ORDER BY time DESC LIMIT %(most)s"""
"""when graphs were submitted in other runs: no two graphs of a cluster have the same time"""
SUBMITTED: LiteralString = f"""
    submitted AS MATERIALIZED (
        SELECT time, computation, {IS_OWN} AS is_own,
            CASE jsonb_typeof(groups) WHEN 'array' THEN groups ELSE '[]' END AS groups
        FROM computation
        WHERE cluster_id = %(cluster)s AND time >= %(earliest)s AND time < %(stop)s
        ORDER BY time DESC LIMIT %(most)s)"""
GROUPS: LiteralString = f"""
    WITH {SUBMITTED}, named AS (
        SELECT item.value->>0 AS name, bool_or(is_own) AS is_shared
        FROM submitted CROSS JOIN LATERAL jsonb_array_elements(groups) AS item
        WHERE jsonb_typeof(item.value) = 'array'
        GROUP BY 1 HAVING NOT bool_and(is_own))
    SELECT id, is_shared FROM named
    JOIN task_group ON task_group.cluster_id = %(cluster)s AND task_group.name = named.name"""
PREFIXES: LiteralString = f"""
    WITH {SUBMITTED}, named AS (
        SELECT DISTINCT item.value->>0 AS name, is_own
        FROM submitted CROSS JOIN LATERAL jsonb_array_elements(groups) AS item
        WHERE jsonb_typeof(item.value) = 'array')
    SELECT prefix_id FROM named
    JOIN task_group ON task_group.cluster_id = %(cluster)s AND task_group.name = named.name
    GROUP BY 1 HAVING NOT bool_or(is_own)"""
TASKS: LiteralString = f"""
    WITH {SUBMITTED}
    SELECT {TASK.format("task")} FROM task JOIN submitted USING (time, computation)
    WHERE task.cluster_id = %(cluster)s AND task.time >= %(earliest)s AND task.time < %(stop)s
        AND group_id = ANY(%(shared)s)
    GROUP BY 1 HAVING NOT bool_or(is_own)"""


@dataclass(frozen=True, slots=True)
class OtherWork:
    """The tasks of a window that weren't submitted in a run."""

    run: str = ""
    """the id that the client gave its run"""
    client: str = ""
    """the run's; "": not known, and all tasks are the run's"""
    graphs: list[datetime] = field(default_factory=list)
    """when graphs were submitted in other runs"""
    groups: list[int] = field(default_factory=list)
    """of which only others submitted tasks"""
    shared: list[int] = field(default_factory=list)
    """of which both did"""
    tasks: list[int] = field(default_factory=list)
    """hashes of the others' tasks of these groups"""

    def __bool__(self) -> bool:
        return bool(self.groups or self.tasks)

    def includes(self, table: LiteralString) -> LiteralString:
        """SQL: whether a row with group_id and key_rest is about such a task. Needs `parameters`."""
        return IS_OTHER.replace("{0}", table) if self else "false"

    @property
    def submitted(self) -> LiteralString:
        """SQL: whether a row of `computation` is the run's. Needs `parameters`."""
        return IS_OWN if self.client else "true"

    @property
    def acted(self) -> LiteralString:
        """SQL: whether a row of `client_activity` is the run's. Needs `parameters`."""
        return "run = %(run)s" if self.client else "true"

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "client": self.client,
            "of_worker": f"{OF_WORKER}%",
            "other_graphs": self.graphs,
            "other_groups": self.groups,
            "shared_groups": self.shared,
            "other_tasks": self.tasks,
        }


NONE = OtherWork()


def other_work(
    connection: psycopg.Connection, cluster: int, run: UUID | None, start: datetime, stop: datetime
) -> OtherWork:
    """Return the tasks of [start, stop) that weren't submitted in a run that client code opened.

    `run`: the client's id of it; None: no client opened it, and all tasks are its own.
    """
    if run is None:
        return NONE
    with scanned(connection, cluster, _conditions(start, stop)):
        parameters = _parameters(connection, cluster, run, start, stop)
        if not parameters:
            return NONE
        found = connection.execute(GROUPS, parameters).fetchall()
        shared = [group for group, is_shared in found if is_shared]
        others = [group for group, is_shared in found if not is_shared]
        hashes = _tasks_of_others(connection, parameters, shared) if shared else []
    return OtherWork(run.hex, parameters["client"], parameters["other_graphs"], others, shared, hashes)


def other_prefixes(
    connection: psycopg.Connection, cluster: int, run: UUID | None, start: datetime, stop: datetime
) -> set[int]:
    """Return the prefixes of which only others submitted tasks; parameters as of `other_work`."""
    if run is None:
        return set()
    with scanned(connection, cluster, _conditions(start, stop)):
        parameters = _parameters(connection, cluster, run, start, stop)
        return {prefix for (prefix,) in connection.execute(PREFIXES, parameters)} if parameters else set()


def _conditions(start: datetime, stop: datetime) -> dict[str, Condition]:
    """What a scan of archived rows looks for: who submitted which graphs."""
    kinds = OneOf(("kind",), frozenset((CLIENT_DESCRIBED, GRAPH_UPDATED)))
    # a client can describe itself just after a short run
    within = Condition((), start - SUBMITTED_BEFORE, stop + DESCRIBED_WITHIN)
    return {"event": replace(within, tests=(kinds,)), "computation": within}


def _tasks_of_others(
    connection: psycopg.Connection, parameters: Mapping[str, Any], shared: list[int]
) -> list[int]:
    """The hashes of the tasks of shared groups that only others submitted."""
    named = connection.execute("SELECT name FROM task_group WHERE id = ANY(%s)", [shared])
    groups = OneOf(("group",), frozenset(name for (name,) in named))
    condition = Condition((groups,), parameters["earliest"], parameters["stop"])
    with scanned(connection, parameters["cluster"], {"task": condition}):
        rows = connection.execute(TASKS, {**parameters, "shared": shared})
        return [hash for (hash,) in rows]


def _parameters(
    connection: psycopg.Connection, cluster: int, run: UUID, start: datetime, stop: datetime
) -> dict[str, Any]:
    """Return those of the queries above; none where it isn't known which tasks are the run's."""
    if not (client := client_detail_of_run(connection, cluster, run, start).get("client") or ""):
        return {}
    parameters = {
        "cluster": cluster,
        "run": run.hex,
        "graph_updated": GRAPH_UPDATED,
        "client": client,
        "of_worker": f"{OF_WORKER}%",
        "earliest": start - SUBMITTED_BEFORE,
        "stop": stop,
        "most": MOST_COMPUTATIONS,
    }
    graphs = [time for (time,) in connection.execute(OTHER_GRAPHS, parameters)]
    return {**parameters, "other_graphs": graphs}
