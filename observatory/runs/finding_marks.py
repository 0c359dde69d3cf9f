"""Findings that people marked as known or as wrong, in all runs of a name in a project.

A marked finding is folded on the tab Why?, and is no run's main finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from observatory.clusters.access import Person, may_set_targets, visible_projects
from observatory.clusters.models import Project
from observatory.runs.models import FindingMark, Run, RunFindings

MAIN = ("kind", "sentence", "thread_seconds", "wall_seconds")
"""what is kept of the main finding, besides all of them"""
NO_MAIN = {"kind": "", "sentence": "", "thread_seconds": 0, "wall_seconds": 0}
LOOKED_AT = (RunFindings.State.FOUND, RunFindings.State.NONE, RunFindings.State.MARKED)
"""states of a run whose findings are known, if only that there are none"""
WITH_FINDINGS = (RunFindings.State.FOUND, RunFindings.State.MARKED)
MOST_OF_A_NAME = 200
BATCH = 200
"""runs whose findings are read at once"""

Finding = Mapping[str, Any]
"""with its `kind`, and the names of its `prefixes`"""


def is_same(one: Finding, other: Finding) -> bool:
    """Whether two findings of runs are the same. Without prefixes a finding is about all of them."""
    prefixes = set(one["prefixes"]), set(other["prefixes"])
    return one["kind"] == other["kind"] and (not all(prefixes) or bool(prefixes[0] & prefixes[1]))


def marks_of(run: Run) -> list[FindingMark]:
    """Those of its name, the newest first."""
    found = FindingMark.objects.filter(project=run.cluster.project_id, run_name=run.name)
    return list(found.select_related("created_by"))


def mark_of(marks: Iterable[FindingMark], finding: Finding) -> FindingMark | None:
    return next((mark for mark in marks if is_same(_of(mark), finding)), None)


def visible_marks(user: Person) -> QuerySet[FindingMark]:
    """The marks in the projects of which `user` is a member."""
    marks = FindingMark.objects.filter(project__in=visible_projects(user))
    return marks.select_related("project", "created_by")


def may_change_marks(user: Person, project: Project) -> bool:
    """True for editors and owners of the project, as for its runs."""
    return may_set_targets(user, project)


def mark(run: Run, user: User, finding: Finding, marked_as: str) -> FindingMark:
    """Mark a finding in all runs with this run's name; it replaces earlier marks of the same finding.

    Raises ValidationError where the name has MOST_OF_A_NAME marks.
    """
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=run.cluster.project_id)
        marks = marks_of(run)
        replaced = [each.pk for each in marks if is_same(_of(each), finding)]
        if len(marks) - len(replaced) >= MOST_OF_A_NAME:
            raise ValidationError(
                f"There are {MOST_OF_A_NAME} marks for runs of this name, the maximum. Remove one first."
            )
        FindingMark.objects.filter(pk__in=replaced).delete()
        return FindingMark.objects.create(
            project_id=run.cluster.project_id,
            run_name=run.name,
            kind=finding["kind"],
            prefixes=sorted(finding["prefixes"]),
            marked_as=marked_as,
            sentence=_sentence(run, finding),
            run=run,
            created_by=user,
        )


def main_finding(found: Sequence[Finding], marks: Iterable[FindingMark]) -> dict[str, Any]:
    """The fields of RunFindings about the main one of a run's findings."""
    if not found:
        return {"state": RunFindings.State.NONE, **NO_MAIN}
    marks = list(marks)
    main = next((one for one in found if mark_of(marks, one) is None), None)
    if main is None:
        return {"state": RunFindings.State.MARKED, **NO_MAIN}
    return {"state": RunFindings.State.FOUND, **{name: main[name] for name in MAIN}}


def keep_main_findings(project: int, run_name: str) -> None:
    """Choose the main findings of all runs of a name once more, after a mark came or went."""
    known = RunFindings.objects.filter(run__cluster__project=project, run__name=run_name)
    marks = list(FindingMark.objects.filter(project=project, run_name=run_name))
    for one in known.filter(state__in=WITH_FINDINGS).order_by("-run__start").iterator(BATCH):
        _keep_main_finding(one, marks)


def keep_main_finding(run: Run) -> None:
    """The same for one run, after it got another name."""
    known = run.known_findings
    if known is not None and known.state in WITH_FINDINGS:
        _keep_main_finding(known, marks_of(run))


def _keep_main_finding(known: RunFindings, marks: Iterable[FindingMark]) -> None:
    main = main_finding(known.all, marks)
    if any(getattr(known, name) != value for name, value in main.items()):
        # only if nobody has looked at the run again meanwhile
        same = RunFindings.objects.filter(pk=known.pk, counted=known.counted, state__in=WITH_FINDINGS)
        same.update(**main)


def _of(mark: FindingMark) -> Finding:
    return {"kind": mark.kind, "prefixes": mark.prefixes}


def _sentence(run: Run, finding: Finding) -> str:
    """As the run has it; "" where it isn't among those that are kept."""
    known = run.known_findings
    kept = known.all if known is not None else []
    return next((str(one["sentence"]) for one in kept if is_same(one, finding)), "")
