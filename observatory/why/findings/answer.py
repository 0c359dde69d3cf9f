"""The API's answer: what stands out in a window, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.store.queries.timeline import snapshot
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import FindingKind
from observatory.why.findings.kinds import finding_kinds
from observatory.why.findings.search import find
from observatory.why.findings.simulated_costs import Named
from observatory.why.window import readable_part

MOST_FACTS, MOST_MOMENTS, MOST_TASKS, MOST_WORKERS, MOST_PREFIXES = 20, 10, 10, 50, 20

Item = dict[str, Any]


def _rounded(interval: tuple[float, float] | None, end: int) -> float | None:
    return None if interval is None else round(interval[end], 3)


def _failures(evidence: Evidence, kinds: Mapping[str, FindingKind]) -> list[Named]:
    """What a window can have in which nothing was recorded of tasks."""
    return [(name, one) for name, kind in kinds.items() if kind.is_failure for one in kind.find(evidence)]


def findings(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, most: int | None = None
) -> Item:
    """Return the API's answer for [after, before) (microseconds). Raises TooManyTasks as readable_part."""
    start, stop = readable_part(connection, scope, after, before, most)
    kinds = finding_kinds()
    with snapshot(connection):
        evidence = Evidence(connection, scope, start, stop)
        found = find(evidence, kinds) if start < stop else _failures(evidence, kinds)
    return {
        "start": start / 1e6,
        "stop": stop / 1e6,
        "has_agent": evidence.has_agent,
        "looked_for": [kind.title for kind in kinds.values()],
        "findings": [
            {
                "kind": name,
                "is_failure": kinds[name].is_failure,
                "sentence": finding.sentence,
                "thread_seconds": round(finding.cost.thread_seconds, 3),
                "wall_seconds": round(finding.cost.wall_seconds, 3),
                "least_wall_seconds": _rounded(finding.cost.interval, 0),
                "most_wall_seconds": _rounded(finding.cost.interval, 1),
                "together_seconds": round(finding.cost.together, 3),
                "facts": [asdict(fact) for fact in finding.facts[:MOST_FACTS]],
                "moments": [asdict(moment) for moment in finding.moments[:MOST_MOMENTS]],
                "tasks": [asdict(task) for task in finding.tasks[:MOST_TASKS]],
                "workers": list(finding.workers[:MOST_WORKERS]),
                "prefixes": list(finding.prefixes[:MOST_PREFIXES]),
                "advice": finding.advice or kinds[name].advice,
                "documentation": kinds[name].documentation,
            }
            for name, finding in found
        ],
    }
