"""Template filter for the changes in a history of runs."""

from __future__ import annotations

from django import template

from observatory.clusters.formatting import format_percent, format_points
from observatory.comparison.history import Measure, MeasureChange

register = template.Library()


@register.filter
def change_text(changed: MeasureChange, measure: Measure) -> str:
    """ "slower by 22 %", "idle: more by 12 percentage points"."""
    before, after = changed.point.before, changed.point.after
    word = measure.more if after > before else measure.less
    if measure.unit != "share" and not before:
        return f"{measure.name.lower()} {word} than none"
    prefix = "" if measure.more == "slower" else f"{measure.name.lower()}: "
    is_share = measure.unit == "share"
    amount = format_points(abs(after - before)) if is_share else format_percent(changed.share)
    return f"{prefix}{word} by {amount}"
