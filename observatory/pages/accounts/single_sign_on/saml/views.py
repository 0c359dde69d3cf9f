"""The way to a SAML identity provider and back. Loaded only with an identity provider in the settings.

It posts its answer from its own site, so that browsers send no session with it. The answer is checked then,
and kept for the request that follows, which has the session: only the browser that asked can be signed in.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from secrets import token_urlsafe
from typing import Any, cast

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from observatory.base.sign_in.saml import Saml
from observatory.pages.accounts.single_sign_on.beginning import only_next
from observatory.pages.accounts.single_sign_on.refusal import failed
from observatory.pages.accounts.single_sign_on.saml.answers import Answer, checked
from observatory.pages.accounts.single_sign_on.saml.attributes import Person
from observatory.pages.accounts.single_sign_on.saml.authn_request import request_to
from observatory.pages.accounts.single_sign_on.saml.document import LARGEST, Refused
from observatory.pages.accounts.single_sign_on.saml.metadata import MetadataError, identity_provider
from observatory.pages.accounts.single_sign_on.saml.toolkit import own_metadata

SAML = cast(Saml, settings.SAML)
COOKIE = "saml_answer"
KEPT = 120
"""seconds that an answer waits for the browser to follow"""
NOT_BEGUN_HERE = (
    "This browser did not begin this sign-in, or more than ten minutes ago. Begin again at the sign-in page."
)

log = logging.getLogger(__name__)

if SAML.metadata.startswith("/"):  # others can be away at the start
    try:
        identity_provider(SAML)
    except MetadataError as error:
        raise ImproperlyConfigured(f"OBSERVATORY_SAML_METADATA is {SAML.metadata}: {error}") from None


@login_not_required
@never_cache
@require_safe
def begin(request: HttpRequest) -> HttpResponseBase:
    """Redirects to the identity provider. `next` is where the person wants to go."""
    only_next(request)
    try:
        url, request_id = request_to(identity_provider(SAML), SAML)
    except MetadataError as error:
        return _unreachable(request, error)
    provider = _provider(request)
    provider.stash_redirect_state(
        request, state_id=request_id, **provider.get_redirect_from_request_kwargs(request)
    )
    return HttpResponseRedirect(url)


@csrf_exempt
@login_not_required
@never_cache
@require_POST
def acs(request: HttpRequest) -> HttpResponseBase:
    """Takes the answer of the identity provider (assertion consumer service)."""
    try:
        if len(request.body) > LARGEST:
            return failed(request, f"The answer has more than {LARGEST >> 10} KiB.", status=413)
        answer = checked(SAML, identity_provider(SAML), request.POST.get("SAMLResponse", ""))
        _refuse_replay(answer)
    except MetadataError as error:
        return _unreachable(request, error)
    except Refused as error:
        return failed(request, f"The answer of {SAML.name} was refused. {error}")
    key, finish = token_urlsafe(32), reverse("saml_finish_acs")
    cache.set(_kept_as(key), json.dumps([answer.request_id, asdict(answer.person)]), KEPT)
    response = HttpResponseRedirect(finish)
    response.set_cookie(
        COOKIE, key, max_age=KEPT, path=finish, secure=settings.HTTPS, httponly=True, samesite="Lax"
    )
    return response


@login_not_required
@never_cache
@require_safe
def complete(request: HttpRequest) -> HttpResponseBase:
    """Signs in whom the answer names, in the browser that asked for it."""
    key = _kept_as(request.COOKIES.get(COOKIE, ""))
    kept = cache.get(key)
    if kept is None or not cache.delete(key):
        return failed(request, "There is no sign-in to complete here. Begin at the sign-in page.")
    request_id, fields = json.loads(kept)
    provider = _provider(request)
    login = provider.sociallogin_from_response(request, Person(**fields))
    try:
        login.state = provider.unstash_redirect_state(request, request_id)
    except PermissionDenied:
        return failed(request, NOT_BEGUN_HERE)
    answer: HttpResponseBase = complete_social_login(request, login)
    return answer


@login_not_required
@require_safe
def metadata(request: HttpRequest) -> HttpResponse:
    """What the administrator of the identity provider registers."""
    return HttpResponse(own_metadata(SAML), content_type="application/samlmetadata+xml")


def _refuse_replay(answer: Answer) -> None:
    """An answer counts once, whoever sends it again."""
    if not cache.add(f"saml-used:{answer.digest}", 1, answer.seconds):
        raise Refused("It was used before. Begin again at the sign-in page.")


def _kept_as(key: str) -> str:
    return f"saml-answer:{key[:100]}"


def _provider(request: HttpRequest) -> Any:
    """allauth's."""
    return get_adapter().get_provider(request, SAML.provider)


def _unreachable(request: HttpRequest, error: MetadataError) -> HttpResponse:
    log.warning("the metadata of the SAML identity provider can't be used: %s", error)
    text = f"The metadata of {SAML.name} can't be read. Try again in a minute."
    return failed(request, text, status=502)
