"""Template tag for a page's scripts and styles: the file, or the bundle that `collectstatic` made of it."""

from __future__ import annotations

from django import template
from django.conf import settings
from django.templatetags.static import static

from observatory.pages.site.static import bundle_of

register = template.Library()


@register.simple_tag
def bundled(entry: str) -> str:
    """The URL of the module or style sheet `entry` (a static path), or of its bundle."""
    return static(entry if settings.WHITENOISE_USE_FINDERS else bundle_of(entry))
