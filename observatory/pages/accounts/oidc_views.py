"""The way to an OpenID Connect issuer and back. Loaded only with an issuer in the settings."""

from __future__ import annotations

import logging

from allauth.socialaccount.providers.openid_connect.views import callback, login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from requests import RequestException

from observatory.pages.accounts.oidc import ISSUER, failed
from observatory.pages.site.query import query_text

log = logging.getLogger(__name__)


@login_not_required
@never_cache
@require_safe
def begin(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Redirects to the issuer. `next` is where the person wants to go."""
    wanted = QueryDict(mutable=True)
    if next_page := query_text(request, "next"):
        wanted["next"] = next_page
    request.GET = wanted  # type: ignore[assignment]  # allauth would read other parameters, too
    try:
        answer: HttpResponseBase = login(request, provider_id)
    except (RequestException, KeyError) as error:
        return _unreachable(request, error)
    return answer


@login_not_required
@never_cache
@require_safe
def complete(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Where the issuer sends the person back."""
    try:
        answer: HttpResponseBase = callback(request, provider_id)
    except (RequestException, KeyError) as error:
        return _unreachable(request, error)
    return answer


def _unreachable(request: HttpRequest, error: Exception) -> HttpResponseBase:
    log.warning("the OIDC issuer does not answer as it should: %r", error)
    return failed(request, f"{ISSUER.name} does not answer. Try again in a minute.", status=502)
