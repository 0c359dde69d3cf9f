"""A table of a page as a CSV file: what its filters find, up to a number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify

from observatory.exchange.formats.csv_lines import csv_lines

MOST_ROWS = 10_000


def wants_csv(request: HttpRequest) -> bool:
    return request.GET.get("format") == "csv"


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    """The first MOST_ROWS of the rows; a last line says that there are more."""
    iterator = iter(rows)
    content = csv_lines([header, *islice(iterator, MOST_ROWS)])
    if next(iterator, None) is not None:
        content += csv_lines([[f"There are more than these {MOST_ROWS} rows: narrow the filters."]])
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slugify(name) or "table"}.csv"'
    response["Cache-Control"] = "private, no-store"
    return response
