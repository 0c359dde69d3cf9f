"""The audit log, for owners of projects and superusers: who did what, the newest first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.audit.reading import EntryFilter, filtered, readable_entries, slugs_of
from observatory.pages.audit.forms import EntryFilterForm

PAGE_SIZE = 50
LONGEST_SHOWN = 200
"""characters of a value"""


@dataclass(frozen=True, slots=True)
class Change:
    """A field with its values as text; "" for none."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Row:
    entry: AuditEntry
    projects: list[str]
    """slugs"""
    changes: list[Change]


@require_safe
def entry_list(request: HttpRequest) -> HttpResponse:
    """The entries that a filter leaves. `before`: those with smaller numbers."""
    user = cast(User, request.user)
    form = EntryFilterForm(user, request.GET)
    wanted = form.entry_filter()
    found = filtered(readable_entries(user), wanted)
    before = _number(request.GET.get("before", ""))
    if before is not None:
        found = found.filter(pk__lt=before)
    entries = list(found.order_by("-pk")[: PAGE_SIZE + 1])
    shown = entries[:PAGE_SIZE]
    slugs = slugs_of(user, shown)
    context = {
        "form": form,
        "rows": [_row(entry, slugs) for entry in shown],
        "older": shown[-1].pk if len(entries) > PAGE_SIZE else None,
        "is_newest": before is None,
        "is_filtered": wanted != EntryFilter() or not form.is_valid(),
    }
    return render(request, "pages/audit/audit.html", context)


def _row(entry: AuditEntry, slugs: dict[int, str]) -> Row:
    projects = [slugs[number] for number in entry.projects if number in slugs]
    changes = [
        Change(field.removesuffix("_id").replace("_", " "), _text(values[0]), _text(values[1]))
        for field, values in sorted(entry.changes.items())
    ]
    return Row(entry, projects, changes)


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) < 19
    return int(text) if is_number else None
