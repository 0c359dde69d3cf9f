"""The ingest tokens of requests, and what is noted of those that are refused."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.security import HttpBearer

from observatory.clusters.tokens import ingest_refusals, ingest_tokens
from observatory.clusters.tokens.models import IngestRefusal, IngestToken
from observatory.collect.agents import metrics

UNKNOWN = "the ingest token is unknown or revoked: make one on the project's page"


class TokenAuth(HttpBearer):
    def authenticate(self, request: HttpRequest, token: str) -> IngestToken:
        found = valid_token(token, request.META.get("REMOTE_ADDR", ""))
        if found is None:
            raise HttpError(401, UNKNOWN)
        return found


def valid_token(secret: str, address: str) -> IngestToken | None:
    """The token with this secret; None for others, which are counted. `address`: the client's."""
    found = ingest_tokens.find(secret)
    if found is None:
        revoked = ingest_tokens.find_revoked(secret)
        reason = IngestRefusal.Reason.REVOKED if revoked else IngestRefusal.Reason.UNKNOWN
        count_refusal(reason, UNKNOWN, address, revoked)
    return found


def count_refusal(reason: IngestRefusal.Reason, answer: str, address: str, token: IngestToken | None) -> None:
    metrics.REFUSED.labels(reason.value).inc()
    ingest_refusals.record(reason, answer, address, token)
