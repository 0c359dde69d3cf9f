"""URLs of pages for messages that leave the site."""

from __future__ import annotations

from django.conf import settings
from django.urls import get_script_prefix


def public_url(path: str) -> str:
    """The URL of a page's path as `reverse` gives it; only the path if settings.PUBLIC_URL isn't set."""
    return str(settings.PUBLIC_URL) + without_script_prefix(path)


def url_in_message(path: str) -> str:
    """The URL of a page for a message; "" if settings.PUBLIC_URL isn't set: a path leads nowhere there."""
    return public_url(path) if settings.PUBLIC_URL else ""


def without_script_prefix(path: str) -> str:
    """`reverse` puts settings.SUB_PATH in front in requests and in a process's first thread only."""
    return path.removeprefix(get_script_prefix().rstrip("/"))
