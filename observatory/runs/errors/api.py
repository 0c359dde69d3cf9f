"""The REST API of errors by exception and place in the code, over all runs that a person may see."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from observatory.clusters.api_lists import read_field
from observatory.clusters.refusal import Refusal, refusal
from observatory.runs.access import get_run
from observatory.runs.errors.listing import ErrorKind, ErrorKindFilter, error_kinds, with_newest
from observatory.runs.window import time_from_epoch

MOST_KINDS = 100

router = Router(tags=["errors"])

Text = Annotated[str, Field(max_length=200)]


class ErrorKindQuery(Schema):
    """Parameters left out don't filter."""

    text: Text = ""
    """words in the exception, its message, the place, the prefix, or the names of run and cluster"""
    project: Text = ""
    since: float | None = None
    """seconds since the epoch: leaves out runs whose last error of a kind was before"""
    run: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """the kinds that this run has; their figures are those of all runs"""
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    page_size: Annotated[int, Field(ge=1, le=MOST_KINDS)] = 50


class ErrorKindOut(Schema):
    """One exception at one place in the code. Times are seconds since the epoch."""

    headline: str
    exception_type: str
    place: str
    message: str
    """of the newest"""
    prefix: str
    count: int
    """failed attempts"""
    retried: int
    killed: int
    """tasks that Dask gave up because their workers died"""
    runs: int
    clusters: int
    first: float
    """also in runs before `since`"""
    last: float
    newest_run: int
    newest_run_name: str


class ErrorKindPage(Schema):
    items: list[ErrorKindOut]
    count: int
    page: int
    pages: int


@router.get("/errors", response={200: ErrorKindPage, 422: Refusal})
def list_error_kinds(request: HttpRequest, query: Query[ErrorKindQuery]) -> Any:
    """The kinds of errors in the runs that you may see, the latest first."""
    user = cast(User, request.user)
    try:
        since = read_field("since", time_from_epoch, query.since)
    except ValidationError as error:
        return refusal(error.message_dict)
    wanted = ErrorKindFilter(query.text, query.project, since)
    kinds = error_kinds(user, wanted, None if query.run is None else get_run(user, query.run))
    page = Paginator(kinds, query.page_size).get_page(query.page)
    return {
        "items": [_kind(each) for each in with_newest(user, wanted, list(page))],
        "count": page.paginator.count,
        "page": page.number,
        "pages": page.paginator.num_pages,
    }


def _kind(kind: ErrorKind) -> dict[str, Any]:
    newest = kind.newest
    return {
        "headline": kind.headline,
        "exception_type": kind.exception_type,
        "place": kind.place,
        "message": newest.message,
        "prefix": newest.prefix,
        "count": kind.count,
        "retried": kind.retried,
        "killed": kind.killed,
        "runs": kind.runs,
        "clusters": kind.clusters,
        "first": kind.first.timestamp(),
        "last": kind.last.timestamp(),
        "newest_run": newest.run_id,
        "newest_run_name": newest.run.name,
    }
