"""The API of records: `GET /api/v1/runs/{id}/records/{kind}` gives a page of them as a block."""

from __future__ import annotations

import gzip
import json
from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.errors import HttpError

from observatory.clusters.audit.noting import Action, note_reading
from observatory.exchange.records.exported_records import Shown, shown, shown_kind
from observatory.replay.scope import Scope
from observatory.runs.access import get_run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import read_connection
from observatory.store.queries.named_records import Mark, Row, Wanted, page, scanned_conditions
from observatory.store.reading.scanning import scanned
from observatory.store.times import MAXIMUM_TIME, from_microseconds, to_microseconds
from observatory.wire.blocks import Column, encode, number_column, text_column
from observatory.wire.columns import ValueType

MOST_ROWS = 50_000
LONGEST_MARK, LARGEST_SKIP = 40, 10**9

router = Router(tags=["records"])

Seconds = Annotated[float | None, Query(ge=0, lt=MAXIMUM_TIME / 1e6, description="on the scheduler's clock")]
Words = Annotated[str, Query(max_length=500)]


@router.get("/runs/{int:run_id}/records", response=dict[str, dict[str, str]])
def kinds(request: HttpRequest, run_id: int) -> dict[str, dict[str, str]]:
    """The kinds of records of a run, with their columns and the types of these."""
    return {
        found.kind.name: {name: type.value for name, type in found.types.items()}
        for found in shown(_scope(request, run_id))
    }


@router.get("/runs/{int:run_id}/records/{kind}")
def records(
    request: HttpRequest,
    run_id: int,
    kind: str,
    start: Seconds = None,
    stop: Seconds = None,
    column: Words = "",
    value: Words = "",
    mark: Words = "",
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = MOST_ROWS,
) -> HttpResponse:
    """One block of records in order of time; `next` in its meta goes on from there as `mark`.

    `start` and `stop` narrow the run's window; only rows in which `column`, one of texts, has the `value`.
    """
    scope = _scope(request, run_id)
    found = shown_kind(scope, kind)
    if found is None:
        there_are = ", ".join(one.kind.name for one in shown(scope))
        raise HttpError(422, f"kind is {kind[:50]!r}: there are {there_are}")
    begin = max(scope.start, 0 if start is None else round(start * 1e6))
    end = min(scope.stop, MAXIMUM_TIME if stop is None else round(stop * 1e6))
    wanted, after = _wanted(found, column, value), _mark(mark)
    conditions = scanned_conditions(found.kind, begin, end, wanted)
    with read_connection() as connection, scanned(connection, scope.cluster.pk, conditions):
        rows, following = page(
            connection,
            found.kind,
            scope.cluster.pk,
            begin,
            max(begin, end),
            found.columns,
            limit,
            after,
            wanted,
        )
    meta = {"types": {name: type.value for name, type in found.types.items()}, "next": _text(following)}
    note_reading(Action.DOWNLOAD, "records", f"run {run_id}", run_id, lambda: [scope.cluster.project_id])
    response = HttpResponse(content_type="application/octet-stream")
    response["Cache-Control"] = "private, no-store"
    body = encode(kind, len(rows), _columns(found, rows), meta)
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response["Content-Encoding"] = "gzip"
        body = gzip.compress(body, 1, mtime=0)
    response.write(body)
    return response


def _scope(request: HttpRequest, run_id: int) -> Scope:
    return scope_of_run(get_run(cast(User, request.user), run_id))


def _wanted(found: Shown, column: str, value: str) -> Wanted | None:
    """Raises HttpError (422) for anything but a column of texts."""
    if not column:
        return None
    texts = [name for name, type in found.types.items() if type is ValueType.TEXT]
    if column not in texts:
        raise HttpError(422, f"column is {column[:50]!r}: of texts there are {', '.join(texts)}")
    return Wanted(column, [value])


def _text(mark: Mark | None) -> str | None:
    return None if mark is None else json.dumps([to_microseconds(mark[0]), mark[1]])


def _mark(text: str) -> Mark | None:
    """Raises HttpError (422) for a mark that `_text` did not write."""
    if not text:
        return None
    try:
        time, skip = json.loads(text[:LONGEST_MARK])
        if not (isinstance(time, int) and isinstance(skip, int)):
            raise ValueError("a mark has two whole numbers")
        if not (0 <= time < MAXIMUM_TIME and 0 <= skip <= LARGEST_SKIP):
            raise ValueError("a mark's numbers are too large")
    except (ValueError, TypeError, RecursionError):
        raise HttpError(422, f"mark is {text[:50]!r}: it isn't one that an answer gave") from None
    return from_microseconds(time), skip


def _columns(found: Shown, rows: list[Row]) -> list[Column]:
    columns = list(zip(*rows, strict=True))[1:] or [()] * len(found.columns)
    return [
        _column(name, type, values) for (name, type), values in zip(found.types.items(), columns, strict=True)
    ]


def _column(name: str, type: ValueType, values: Any) -> Column:
    """A missing number is NaN, a missing text empty."""
    if type in (ValueType.TEXT, ValueType.JSON):
        return text_column(name, (value or "" for value in values))
    if type is ValueType.TIME:
        values = (None if value is None else value.timestamp() for value in values)
    return number_column(name, "f64", (float("nan") if value is None else value for value in values))
