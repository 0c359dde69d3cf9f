"""The way to an OpenID Connect issuer and back. Loaded only with an issuer in the settings."""

from __future__ import annotations

import logging
from typing import cast

from allauth.socialaccount.providers.openid_connect.views import callback, login
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from requests import RequestException

from observatory.base.sign_in.oidc import Oidc
from observatory.pages.accounts.single_sign_on.beginning import only_next
from observatory.pages.accounts.single_sign_on.refusal import failed

ISSUER = cast(Oidc, settings.OIDC)

log = logging.getLogger(__name__)


@login_not_required
@never_cache
@require_safe
def begin(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Redirects to the issuer. `next` is where the person wants to go."""
    only_next(request)
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
