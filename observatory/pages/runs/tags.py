"""Template filter for the tags of runs."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def tag_query(name: str, value: str) -> str:
    """A run's tag as the filter of the list of runs takes it."""
    return f"{name}={value}" if value else name
