"""Lists as CSV files, with the filters of their pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify

from observatory.base.csv_lines import csv_lines

MOST_ROWS = 10_000


def wants_csv(request: HttpRequest) -> bool:
    return request.GET.get("format") == "csv"


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    """The first MOST_ROWS rows; if there are more, the last line says so."""
    iterator = iter(rows)
    content = csv_lines([header, *islice(iterator, MOST_ROWS)])
    if next(iterator, None) is not None:
        content += csv_lines([[f"Only the first {MOST_ROWS:,} rows are included: narrow the filters."]])
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slugify(name) or "table"}.csv"'
    response["Cache-Control"] = "private, no-store"
    return response
