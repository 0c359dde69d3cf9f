"""The API of SQL: `GET /api/v1/sql` lists the tables, `POST /api/v1/sql` runs a query."""

from __future__ import annotations

import io
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from observatory.clusters.access import visible_clusters
from observatory.clusters.audit.noting import Action, note_reading
from observatory.clusters.models import Project
from observatory.clusters.tokens.api_sign_in import SessionOrToken
from observatory.store.sql.limits import LONGEST_QUERY, OF_REQUEST
from observatory.store.times import MAXIMUM_TIME, from_seconds

if TYPE_CHECKING:
    from observatory.store.sql.query import Result

AT_A_TIME = BoundedSemaphore(2)
"""queries of this process"""
LONGEST_WAIT = 20.0
MOST_CLUSTERS = 1_000
CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "arrow": "application/vnd.apache.arrow.stream"}

router = Router(tags=["sql"], auth=SessionOrToken(only_reads=True))

Seconds = Annotated[float, Field(ge=0, lt=MAXIMUM_TIME / 1e6)]
ClusterNumber = Annotated[int, Field(ge=1, lt=2**31)]


class Sql(Schema):
    """A query of DuckDB's SQL, and what it sees."""

    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
    project: Annotated[str, Field(max_length=100)] = ""
    """the short name; empty: all that you may see"""
    clusters: Annotated[list[ClusterNumber], Field(max_length=MOST_CLUSTERS)] = []
    """empty: all that you may see"""
    after: Seconds | None = None
    """records with an earlier time are left out"""
    before: Seconds | None = None
    """records with this time or a later one are left out"""
    format: Literal["json", "csv", "arrow"] = "json"


class SqlColumn(Schema):
    name: str
    type: str
    """of Arrow"""


class SqlTableOut(Schema):
    name: str
    meaning: str
    columns: list[SqlColumn]


class SqlRows(Schema):
    columns: list[SqlColumn]
    rows: list[list[Any]]
    """times are in ISO 8601; what is no number in JSON is null"""
    has_more: bool
    """whether the query has more rows than an answer may have"""


@router.get("/sql", response=list[SqlTableOut])
def tables(request: HttpRequest) -> list[dict[str, Any]]:
    """The tables that queries know, with their columns."""
    from observatory.store.sql.query import tables_by_name

    return [
        {"name": table.name, "meaning": table.meaning, "columns": _columns(table.schema)}
        for table in tables_by_name().values()
    ]


@router.post("/sql", response=SqlRows)
def run(request: HttpRequest, asked: Sql) -> HttpResponse | dict[str, Any]:
    """The rows of a query over the records of the clusters that you may see."""
    # imports pyarrow: 28 MB and 0.3 s, which each process would spend
    from observatory.exchange.sql.scopes import scope_of
    from observatory.store.sql.query import QueryRefused, run_query
    from observatory.store.sql.sources import TooManyRows

    after, before = (None if time is None else from_seconds(time) for time in (asked.after, asked.before))
    try:
        visible = visible_clusters(cast(User, request.user))
        scope = scope_of(visible, asked.clusters, asked.project, after, before)
    except LookupError as error:
        raise HttpError(404, str(error.args[0])) from None
    if not AT_A_TIME.acquire(timeout=LONGEST_WAIT):
        raise HttpError(429, "Other queries are running: try again in some seconds.")
    try:
        result = run_query(asked.query, scope, OF_REQUEST)
    except (QueryRefused, TooManyRows) as error:
        raise HttpError(422, str(error)) from None
    finally:
        AT_A_TIME.release()
    slugs = {slug for slug, _ in scope.clusters.values()}
    note_reading(
        Action.QUERY,
        "query of SQL",
        asked.project,
        sorted(slugs),
        lambda: Project.objects.filter(slug__in=slugs).values_list("pk", flat=True),
    )
    return _answer(result, asked.format)


def _answer(result: Result, format: str) -> HttpResponse | dict[str, Any]:
    from observatory.exchange.sql.results import WRITERS, json_rows

    if format == "json":
        rows = json_rows(result.rows)
        return {"columns": _columns(result.rows.schema), "rows": rows, "has_more": result.has_more}
    file = io.BytesIO()
    WRITERS[format](result.rows, file)
    response = HttpResponse(file.getvalue(), content_type=CONTENT_TYPES[format])
    response["X-Has-More"] = str(result.has_more).lower()
    return response


def _columns(schema: Any) -> list[dict[str, str]]:
    return [{"name": field.name, "type": str(field.type)} for field in schema]
