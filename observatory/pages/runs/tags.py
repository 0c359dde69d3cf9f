"""Template filters for the tags and findings of runs."""

from __future__ import annotations

from typing import Any

from django import template

from observatory.runs.models import RunError
from observatory.why.findings import of_errors
from observatory.why.findings.kinds import finding_kinds

register = template.Library()


@register.filter
def tag_query(name: str, value: str) -> str:
    """A run's tag as the filter of the list of runs takes it."""
    return f"{name}={value}" if value else name


@register.filter
def finding_title(kind: str) -> str:
    """The cause that a kind of findings is about; the kind itself where this version doesn't know it."""
    known = finding_kinds().get(kind)
    return known.title if known else kind


@register.filter
def finding_about(error: RunError) -> dict[str, Any] | None:
    """The first finding of a run about one of its errors."""
    return of_errors.finding_about(error)


@register.filter
def cause_of(error: RunError) -> dict[str, Any] | None:
    """What was found of why the tasks of an error failed, besides that they did."""
    return of_errors.cause_of(error)
