"""The endpoint of SCIM: who has OBSERVATORY_SCIM_TOKEN gets an answer, others learn nothing."""

from __future__ import annotations

import hmac
import json
from dataclasses import replace

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.audit.request_actor import actor_of
from observatory.clusters.audit.sign_ins import note_failure
from observatory.store.audit.actor import acting

NOT_SET = "SCIM isn't set up: OBSERVATORY_SCIM_TOKEN."
NO_TOKEN = "Send OBSERVATORY_SCIM_TOKEN as `Authorization: Bearer`."


@csrf_exempt
@login_not_required
def scim(request: HttpRequest, kind: str, id: str = "") -> HttpResponse:
    if not settings.SCIM_TOKEN:
        return _refused(404, NOT_SET)
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(
        given.strip().encode(), settings.SCIM_TOKEN.encode()
    ):
        note_failure(request)
        refused = _refused(401, NO_TOKEN)
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    from observatory.clusters.scim.answers import answer  # its library takes a second, and few need it

    known = actor_of(request)
    actor = replace(known, kind=AuditEntry.ActorKind.TOKEN.value, name="identity provider", token="SCIM")
    with acting(lambda: actor):
        return answer(request, kind, id)


def _refused(status: int, detail: str) -> HttpResponse:
    schema = "urn:ietf:params:scim:api:messages:2.0:Error"
    content = json.dumps({"schemas": [schema], "status": str(status), "detail": detail})
    return HttpResponse(content, status=status, content_type="application/scim+json")
