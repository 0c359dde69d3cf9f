"""Template tag for a page's scripts and styles: bundles, or in DEBUG mode the files they are made of."""

from __future__ import annotations

from django import template
from django.conf import settings
from django.templatetags.static import static

from observatory.base.static.bundle import bundle_of

register = template.Library()


@register.simple_tag
def bundled(entry: str) -> str:
    """The URL of the bundle of the module or style sheet `entry` (a static path)."""
    return static(entry if settings.DEBUG else bundle_of(entry))
