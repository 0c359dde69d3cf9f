"""The audit log as JSON lines: `GET /api/v1/audit`, once or for as long as the client stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Literal, cast

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from ninja import Field, Query, Router, Schema
from ninja.errors import HttpError

from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.audit.reading import EntryFilter, lines_after, readable_entries
from observatory.clusters.tokens import access_tokens
from observatory.clusters.tokens.models import AccessToken
from observatory.store.times import MAXIMUM_TIME, from_seconds

CONTENT_TYPE = "application/x-ndjson"
MOST_LINES = 10_000
MOST_FOLLOWERS = 10
"""of a process"""
INTERVAL = 1.0
"""seconds between two looks for new entries"""
LONGEST_FOLLOWED = 3600.0
"""seconds; who follows asks again with the number of the last line, and is asked who it is"""

router = Router(tags=["audit"])
_followers = 0

Seconds = Annotated[float, Field(ge=0, lt=MAXIMUM_TIME / 1e6)]


class Asked(Schema):
    after: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """the `id` of the last line that you have"""
    limit: Annotated[int, Field(ge=1, le=MOST_LINES)] = 1000
    follow: bool = False
    """the answer goes on with what comes, for an hour at most"""
    project: Annotated[str, Field(max_length=100)] = ""
    """the short name"""
    person: Annotated[str, Field(max_length=200)] = ""
    """a part of the name of who acted"""
    action: Literal["", *AuditEntry.Action.values] = ""  # type: ignore[valid-type]
    kind: Annotated[str, Field(max_length=100)] = ""
    text: Annotated[str, Field(max_length=200)] = ""
    """a part of a name, an address, a token or a value"""
    since: Seconds | None = None
    until: Seconds | None = None

    def filter(self) -> EntryFilter:
        since, until = (None if time is None else from_seconds(time) for time in (self.since, self.until))
        return EntryFilter(self.project, self.person, self.action, self.kind, self.text, since, until)


@router.get("/audit", openapi_extra={"responses": {200: {"content": {CONTENT_TYPE: {}}}}})
def audit(request: HttpRequest, asked: Query[Asked]) -> HttpResponseBase:
    """Who did what, as JSON lines in the order of their `id`: for owners of the entries of their projects.

    No entry with a smaller `id` appears later: go on with `after`.
    """
    user = cast(User, request.user)
    readable_entries(user)  # refuses before the answer begins
    if asked.follow:
        token: AccessToken | None = getattr(request, "access_token", None)
        if _followers >= MOST_FOLLOWERS:
            raise HttpError(429, f"{MOST_FOLLOWERS} clients follow the log already: ask without follow.")
        return StreamingHttpResponse(_follow(user, token, asked), content_type=CONTENT_TYPE)
    text = "".join(lines_after(user, asked.filter(), asked.after, asked.limit)[0])
    return HttpResponse(text, content_type=CONTENT_TYPE)


async def _follow(user: User, token: AccessToken | None, asked: Asked) -> AsyncIterator[str]:
    global _followers
    _followers += 1
    loop = asyncio.get_running_loop()
    end, after = loop.time() + LONGEST_FOLLOWED, asked.after
    try:
        while loop.time() < end:
            lines, after = await sync_to_async(_read)(user.pk, token, asked, after)
            yield "".join(lines) or "\n"  # an empty line shows a client that is gone
            if len(lines) < asked.limit:
                await asyncio.sleep(INTERVAL)
    except PermissionDenied:
        return
    finally:
        _followers -= 1


def _read(user: int, token: AccessToken | None, asked: Asked, after: int) -> tuple[list[str], int]:
    """With the rights that the person has now. Keeps no connection meanwhile.

    Raises PermissionDenied when the person or the token lost them.
    """
    try:
        person = User.objects.filter(pk=user).first()
        if person is None or (token is not None and not access_tokens.is_valid(token)):
            raise PermissionDenied
        return lines_after(person, asked.filter(), after, asked.limit)
    finally:
        connection.close()
