"""How the figures of compared runs are written."""

from __future__ import annotations

from django import template

from observatory.comparison.history import Changed, Measure
from observatory.pages.templatetags.amounts import count
from observatory.pages.templatetags.records import duration, size

register = template.Library()


@register.filter
def amount(value: float | None, unit: str) -> str:
    """A figure in words: "2.31 s", "41 %", "1.2 GiB", "1 204"."""
    if value is None:
        return "–"
    if unit == "seconds":
        return duration(value)
    if unit == "share":
        return f"{value * 100:.1f} %"
    return size(value) if unit == "bytes" else count(round(value))


@register.filter
def change_words(changed: Changed, measure: Measure) -> str:
    """ "slower by 22 %"."""
    word = measure.more if changed.change.after > changed.change.before else measure.less
    if changed.share == float("inf"):
        return f"{measure.name.lower()} {word} than none"
    prefix = "" if measure.more == "slower" else f"{measure.name.lower()}: "
    return f"{prefix}{word} by {changed.share * 100:.0f} %"
