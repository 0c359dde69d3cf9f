"""The REST API of marks of findings."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Router, Status

from observatory.base.csv_lines import csv_lines
from observatory.clusters.api_lists import page_of
from observatory.clusters.refusal import Refusal, refusal
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken
from observatory.runs import finding_marks
from observatory.runs.access import get_run, may_change_runs
from observatory.runs.api import ONLY_EDITORS
from observatory.runs.models import FindingMark, Run
from observatory.store.connection import read_connection
from observatory.store.queries.windows.prefixes import prefix_names
from observatory.why.findings.kinds import finding_kinds
from observatory.why.marks.marked import mark_item
from observatory.why.marks.schemas import FindingMarkOut, FindingMarkPage, FindingMarkQuery, NewFindingMark
from observatory.why.tasks import keep_main_findings

MOST_ROWS = 10_000
"""of a CSV file"""
CSV_COLUMNS = (
    *("id", "project", "run_name", "kind", "prefixes", "marked_as", "by", "created", "run", "sentence"),
)
CHANGES = SessionOrToken(Scope.RUNS)
router = Router(tags=["why"])


@router.get("/finding-marks", response=FindingMarkPage)
def list_finding_marks(request: HttpRequest, query: Query[FindingMarkQuery]) -> Any:
    """The marks in your projects, the newest first; with `format=csv` the first 10,000 as a file."""
    found = finding_marks.visible_marks(cast(User, request.user))
    if query.project:
        found = found.filter(project__slug=query.project)
    if query.name:
        found = found.filter(run_name=query.name)
    if query.format == "csv":
        return _csv(_out(each) for each in found[:MOST_ROWS])
    return page_of(found, query.page, query.page_size, _out)


@router.post("/runs/{int:run_id}/finding-marks", response={201: FindingMarkOut, 422: Refusal}, auth=CHANGES)
def mark_finding(request: HttpRequest, run_id: int, new: NewFindingMark) -> Any:
    """Marks a finding as known or wrong in all runs with this run's name; replaces its earlier mark."""
    user = cast(User, request.user)
    run = get_run(user, run_id)
    if not may_change_runs(user, run):
        raise PermissionDenied(ONLY_EDITORS)
    try:
        if not new.marked_as:
            raise ValidationError({"marked_as": "This is required: known or wrong."})
        finding = {"kind": _kind(new.kind), "prefixes": _names(run, new.prefixes)}
        made = finding_marks.mark(run, user, finding, new.marked_as)
    except ValidationError as error:
        return refusal(error.message_dict if hasattr(error, "error_dict") else {"__all__": error.messages})
    finding_marks.keep_main_finding(run)
    _keep_main_findings(made)
    return Status(201, _out(made))


@router.delete("/finding-marks/{int:mark_id}", response={204: None}, auth=CHANGES)
def unmark_finding(request: HttpRequest, mark_id: int) -> Any:
    """Removes a mark: the finding is shown again in all runs of the name."""
    user = cast(User, request.user)
    mark = finding_marks.visible_marks(user).filter(pk=mark_id).first()
    if mark is None:
        raise Http404("This mark doesn't exist, or you don't have access to it.")
    unmark(user, mark)
    return Status(204, None)


def unmark(user: User, mark: FindingMark) -> None:
    """Raises PermissionDenied for viewers of its project."""
    if not finding_marks.may_change_marks(user, mark.project):
        raise PermissionDenied(ONLY_EDITORS)
    mark.delete()
    _keep_main_findings(mark)


def _keep_main_findings(mark: FindingMark) -> None:
    transaction.on_commit(lambda: keep_main_findings.delay(mark.project_id, mark.run_name))


def _kind(name: str) -> str:
    if name not in finding_kinds():
        raise ValidationError({"kind": f"There is no kind of findings with the name {name!r}."})
    return name


def _names(run: Run, prefixes: list[int]) -> list[str]:
    with read_connection() as connection:
        names = prefix_names(connection, run.cluster_id) if prefixes else {}
    if unknown := [prefix for prefix in prefixes if prefix not in names]:
        raise ValidationError({"prefixes": f"The cluster of the run has no prefix {unknown[0]}."})
    return [names[prefix] for prefix in prefixes]


def _out(mark: FindingMark) -> dict[str, Any]:
    return {
        **mark_item(mark),
        "project": mark.project.slug,
        **{name: getattr(mark, name) for name in ("run_name", "kind", "prefixes", "sentence")},
        "run": mark.run_id,
    }


def _csv(rows: Any) -> HttpResponse:
    cells = [
        [" ".join(value) if isinstance(value := row[name], list) else value for name in CSV_COLUMNS]
        for row in rows
    ]
    response = HttpResponse(csv_lines([CSV_COLUMNS, *cells]), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="finding-marks.csv"'
    response["Cache-Control"] = "private, no-store"
    return response
