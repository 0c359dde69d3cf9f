"""URLs that come with a request and are followed only if they are pages of this site."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def own_url(url: str, otherwise: str) -> str:
    """Return `url` if it is a page of this site, else `otherwise`."""
    return url if url_has_allowed_host_and_scheme(url, allowed_hosts=None) else otherwise


def back_url(request: HttpRequest, otherwise: str) -> str:
    """Return the page that the form was on, as its field `back` says."""
    return own_url(request.POST.get("back", ""), otherwise)
