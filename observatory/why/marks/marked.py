"""The findings of an answer with their marks."""

from __future__ import annotations

from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.runs.finding_marks import mark_of, marks_of
from observatory.runs.models import FindingMark, Run
from observatory.store.queries.windows.prefixes import prefix_names
from observatory.why.kept import explained

Item = dict[str, Any]


def marked_findings(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """The answer `findings` for [after, before) (microseconds), each with its mark in runs of the name.

    The marked ones are last. Only a run has a name: there are no marks on the timeline of a cluster.
    Raises StillLooking, and TooManyTasks.
    """
    answer = explained(connection, scope, "findings", after, before)
    run = Run.objects.select_related("cluster").filter(pk=scope.run).first() if scope.run else None
    marks = marks_of(run) if run is not None and answer["findings"] else []
    names = prefix_names(connection, scope.cluster.pk) if marks else {}
    found = []
    for finding in answer["findings"]:
        prefixes = [names[prefix] for prefix in finding["prefixes"] if prefix in names]
        mark = mark_of(marks, {"kind": finding["kind"], "prefixes": prefixes})
        found.append({**finding, "mark": mark and mark_item(mark)})
    return {**answer, "findings": sorted(found, key=lambda one: one["mark"] is not None)}


def mark_item(mark: FindingMark) -> Item:
    return {
        "id": mark.pk,
        "marked_as": mark.marked_as,
        "by": mark.created_by.get_username() if mark.created_by else None,
        "created": mark.created.timestamp(),
    }
