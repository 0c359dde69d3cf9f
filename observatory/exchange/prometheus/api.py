"""`POST /api/v1/prometheus/read`: Prometheus' remote_read over what somebody may see (docs/prometheus.md)."""

from __future__ import annotations

from typing import cast

import psycopg
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema
from ninja.errors import HttpError

from observatory.clusters.access import visible_projects
from observatory.clusters.audit.noting import Action, note_reading
from observatory.clusters.tokens.api_sign_in import SessionOrToken
from observatory.collect.agents.body import BodyError
from observatory.store.places.shares import Busy, Shares

AT_A_TIME, WAITING, LONGEST_WAIT = 2, 20, 20.0
"""requests of a process; of one person that wait; seconds that one waits"""
LONGEST_BODY = 1 << 20
MOST_QUERIES = 100

router = Router(tags=["prometheus"], auth=SessionOrToken(only_reads=True))
_shares = Shares(AT_A_TIME, WAITING, LONGEST_WAIT)


class Refusal(Schema):
    detail: str


@router.post(
    "/prometheus/read",
    response={400: Refusal, 413: Refusal, 415: Refusal, 422: Refusal, 429: Refusal},
    summary="Prometheus' remote_read: the samples of series (protobuf, snappy)",
)
def read(request: HttpRequest) -> HttpResponse:
    """Protobuf and snappy: the samples of the series that the matchers of each query select."""
    user = cast(User, request.user)
    try:
        with _shares.place(user.pk):
            return _read(request, user)
    except Busy:
        raise HttpError(429, "Other requests are read: try again in some seconds.") from None


def _read(request: HttpRequest, user: User) -> HttpResponse:
    # numpy and protobuf: memory that each process would spend
    from observatory.collect.prometheus.body import read_message
    from observatory.collect.prometheus.messages_pb2 import ReadRequest
    from observatory.exchange.prometheus.encoding import answer_of
    from observatory.exchange.prometheus.reading import ADVICE, Allowance, read_query
    from observatory.exchange.prometheus.selection import TooMuch, WrongMatcher

    try:
        asked, _ = read_message(request, ReadRequest, LONGEST_BODY)
    except BodyError as error:
        raise HttpError(error.status, str(error)) from None
    if len(asked.queries) > MOST_QUERIES:
        raise HttpError(422, f"a request has at most {MOST_QUERIES} queries")
    allowance = Allowance()
    try:
        results = [read_query(query, user, allowance) for query in asked.queries]
    except (TooMuch, WrongMatcher) as error:
        raise HttpError(422, str(error)) from None
    except psycopg.errors.QueryCanceled:
        raise HttpError(422, f"the database took too long: {ADVICE}") from None
    projects = visible_projects(user).values_list("pk", flat=True)
    note_reading(Action.QUERY, "query of Prometheus", "", "", lambda: projects)
    response = HttpResponse(answer_of(results), content_type="application/x-protobuf")
    response["Content-Encoding"] = "snappy"
    return response
