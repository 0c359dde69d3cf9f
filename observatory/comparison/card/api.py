"""The API of a run's card: of a run, or of a public link to it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Router

from observatory.comparison.card.card import card_of
from observatory.comparison.card.schemas import RunCard
from observatory.replay.answers.router import AnswerRouter
from observatory.runs.access import get_run
from observatory.runs.sharing.links import find_public_link
from observatory.runs.sharing.scopes import scope_of_run
from observatory.runs.sharing.timelines import requested_link

runs = Router(tags=["runs"])
links = AnswerRouter(requested_link, tags=["runs"], auth=None)


@runs.get("/runs/{int:run_id}/card", response=RunCard)
def run_card(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """What the run did, in short."""
    run = get_run(cast(User, request.user), run_id)
    return card_of(run, scope_of_run(run))


@links.get("/r/{token}/card", response=RunCard)
def link_card(request: HttpRequest, token: str) -> dict[str, Any]:
    """What the run of a public link did, as far as the link shows it."""
    return card_of(find_public_link(token).run, links.scope_of(request))
