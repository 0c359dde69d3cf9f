"""Template tag for the script of a page: its module, or the bundle that `collectstatic` made of it."""

from __future__ import annotations

from django import template
from django.conf import settings
from django.templatetags.static import static

from observatory.pages.site.static import bundle_of

register = template.Library()


@register.simple_tag
def script(entry: str) -> str:
    """The URL of the module `entry` (a static path), or of its bundle."""
    return static(entry if settings.WHITENOISE_USE_FINDERS else bundle_of(entry))
