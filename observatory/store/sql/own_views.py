"""Views of runs, their errors and findings, and alerts, with the columns of exchange/sql/own_tables.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString

OF_RUN: LiteralString = """JOIN runs_run run ON run.id = run_id
    JOIN clusters_cluster cluster ON cluster.id = run.cluster_id
    JOIN clusters_project project ON project.id = cluster.project_id"""


@dataclass(frozen=True, slots=True)
class OwnView:
    """`select` begins with the project's short name and the scheduler's id."""

    name: str
    columns: tuple[str, ...]
    select: LiteralString


OWN_VIEWS = (
    OwnView(
        "runs",
        (
            *("project", "cluster", "id", "name", "origin", "outcome", "start", "stop", "user", "tags"),
            *("pinned", "tasks", "errors", "figures"),
        ),
        """SELECT project.slug, cluster.scheduler_id, run.id, run.name, origin, outcome, run.start, stop,
               run."user", tags::text, pinned, tasks::bigint, errors::bigint, figures::text
           FROM runs_run run JOIN clusters_cluster cluster ON cluster.id = run.cluster_id
           JOIN clusters_project project ON project.id = cluster.project_id""",
    ),
    OwnView(
        "run_errors",
        (
            *("project", "cluster", "run", "exception_type", "message", "place", "function", "file", "line"),
            *("prefix", "count", "retried", "killed", "first", "last"),
        ),
        f"""SELECT project.slug, cluster.scheduler_id, run_id, exception_type, message, place, function, file,
               line::bigint, prefix, count::bigint, retried::bigint, killed::bigint, first, last
           FROM runs_runerror {OF_RUN}""",
    ),
    OwnView(
        "findings",
        (
            *("project", "cluster", "run", "place", "kind", "sentence", "thread_seconds", "wall_seconds"),
            *("prefixes", "exception"),
        ),
        f"""SELECT project.slug, cluster.scheduler_id, run_id, place, finding->>'kind', finding->>'sentence',
               (finding->>'thread_seconds')::double precision, (finding->>'wall_seconds')::double precision,
               ARRAY(SELECT jsonb_array_elements_text(finding->'prefixes')),
               nullif(finding->>'exception', '')
           FROM runs_runfindings
           CROSS JOIN LATERAL jsonb_array_elements("all") WITH ORDINALITY AS one (finding, place) {OF_RUN}""",
    ),
    OwnView(
        "alerts",
        (
            *("project", "cluster", "id", "rule", "severity", "state", "labels", "pending", "fired"),
            *("resolved", "value", "message", "finding", "acknowledged"),
        ),
        """SELECT project.slug, cluster.scheduler_id, alert.id, rule.name, alert.severity, state,
               alert.labels::text, pending, fired, resolved, value, nullif(alert.message, ''),
               nullif(finding, ''), acknowledged
           FROM alerts_alert alert JOIN alerts_rule rule ON rule.id = rule_id
           JOIN clusters_cluster cluster ON cluster.id = alert.cluster_id
           JOIN clusters_project project ON project.id = cluster.project_id""",
    ),
)
