"""`POST /api/v1/ingest`: takes the batches of agents."""

from __future__ import annotations

from typing import Annotated

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Query, Router, Schema

from observatory.clusters.tokens import ingest_tokens
from observatory.clusters.tokens.models import IngestToken
from observatory.collect.agents import metrics
from observatory.collect.agents.body import length_of, read_body
from observatory.collect.agents.storing import Answer, Sent, busy, refused_for_speed, store
from observatory.collect.agents.tokens import TokenAuth
from observatory.collect.agents.writers import SHARES
from observatory.store.places.shares import Busy

router = Router(tags=["agents"])


class StoredBatch(Schema):
    sequence: int
    refused: int
    """records that cannot be stored"""
    already: bool
    """the batch was stored before"""
    detail: str = ""
    """why records of valid times are refused; missing where none are"""
    watched: bool = False
    """the cluster has open pages; missing where it has none"""


class SameProject(Schema):
    same_project: bool


class Refusal(Schema):
    detail: str


@router.get(
    "/ingest/same-project",
    auth=TokenAuth(),
    response={200: SameProject, 422: Refusal},
    summary="Whether a token of the same project has a SHA-256 digest that begins with these 16 digits",
)
def same_project(
    request: HttpRequest, digest: Annotated[str, Query(pattern=r"^[0-9a-f]{16}$")]
) -> SameProject:
    """Agents ask before they send what another agent of their machine left on its disk."""
    token: IngestToken = request.auth  # type: ignore[attr-defined]
    return SameProject(same_project=ingest_tokens.has_token(token.project, digest))


@router.post(
    "/ingest",
    auth=TokenAuth(),
    response={
        200: StoredBatch,
        400: Refusal,
        413: Refusal,
        415: Refusal,
        422: Refusal,
        429: Refusal,
        503: Refusal,
    },
    summary="Stores a batch of records of an agent (docs/wire-format.md), exactly once",
)
def ingest(request: HttpRequest) -> HttpResponse:
    token: IngestToken = request.auth  # type: ignore[attr-defined]
    project = token.project_id
    if (refusal := refused_for_speed(token.project, length_of(request))) is not None:
        return _response(refusal)
    if not SHARES.is_free(project) and not connection.in_atomic_block:
        connection.close()  # those that wait would keep all of this process' connections from its pages
    try:
        with metrics.DURATION.time(), SHARES.place(project):
            sent = Sent(lambda: read_body(request), request.META.get("REMOTE_ADDR", ""))
            [answer] = store(token, [sent])
    except Busy:
        answer = busy()
    return _response(answer)


def _response(answer: Answer) -> HttpResponse:
    response = JsonResponse(answer.content, status=answer.status)
    if answer.retry_after is not None:
        response["Retry-After"] = str(answer.retry_after)
    if answer.status == 503:  # it was logged
        response._has_been_logged = True  # type: ignore[attr-defined]  # django.utils.log reads it
    return response
