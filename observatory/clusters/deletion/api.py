"""The REST API of deletions: a preview of what goes, the deletion, and how far it is."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest
from ninja import Field, Path, Router, Schema, Status

from observatory.clusters.deletion import deletions
from observatory.clusters.deletion.amounts import Amount, from_json
from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import Preview, preview
from observatory.clusters.refusal import Refusal, refusal
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken

CHANGES = SessionOrToken(Scope.DELETIONS)
router = Router(tags=["deletions"])

Kind = Literal["project", "cluster", "rule", "channel", "person"]
Reference = Annotated[str, Path(max_length=150)]
"""a project's slug, a person's user name, else the number"""


class AmountOut(Schema):
    noun: str
    count: int
    bytes: int | None
    is_least: bool
    """counting took too long: there are at least so many"""


class PreviewOut(Schema):
    kind: Kind
    name: str
    """what a request to delete it has to repeat"""
    goes: list[AmountOut]
    stays: list[AmountOut]
    """what refers to it and stays without it"""
    notes: list[str]
    obstacle: str
    """why it cannot be deleted now; empty if it can"""


class DeletionIn(Schema):
    name: Annotated[str, Field(max_length=500)]
    """of what is deleted, as the preview has it"""


class DeletionOut(Schema):
    id: int
    kind: Kind
    name: str
    """empty for a person who is deleted"""
    state: Literal["waiting", "running", "done", "failed"]
    progress: float
    """from 0 to 1"""
    message: str
    """why it failed"""
    gone: list[AmountOut]
    """what was deleted so far"""
    created: float
    """seconds since the epoch"""


@router.get("/deletions/{int:deletion_id}", response=DeletionOut)
def get_deletion(request: HttpRequest, deletion_id: int) -> dict[str, Any]:
    """How far a deletion is that you asked for; superusers see all."""
    found = deletions.visible_deletions(cast(User, request.user)).filter(pk=deletion_id).first()
    if found is None:
        raise Http404("This deletion doesn't exist, or you didn't ask for it.")
    return _deletion(found)


@router.get("/deletions/{kind}/{reference}", response=PreviewOut)
def preview_deletion(request: HttpRequest, kind: Kind, reference: Reference) -> dict[str, Any]:
    """What would be deleted. `reference`: a project's slug, a person's user name, else the number."""
    return _preview(_previewed(request, kind, reference))


@router.post(
    "/deletions/{kind}/{reference}", response={202: DeletionOut, 409: Refusal, 422: Refusal}, auth=CHANGES
)
def delete(request: HttpRequest, kind: Kind, reference: Reference, asked: DeletionIn) -> Any:
    """Deletes it with all that is its own. 409: it cannot be deleted now, such as a live cluster."""
    user = cast(User, request.user)
    subject = deletions.referred_to_delete(kinds()[kind], user, reference)
    if asked.name != str(subject):
        return refusal({"name": [f"Repeat the name of the {kind} to delete it."]})
    try:
        return Status(202, _deletion(deletions.start(kinds()[kind], subject, user, Deletion.Door.API)))
    except deletions.Refused as refused:
        return Status(409, {"detail": str(refused), "errors": {"__all__": [str(refused)]}})


def _previewed(request: HttpRequest, kind: str, reference: str) -> Preview:
    found = kinds()[kind]
    return preview(found, deletions.referred_to_delete(found, cast(User, request.user), reference))


def _preview(shown: Preview) -> dict[str, Any]:
    return {
        "kind": shown.kind.name,
        "name": shown.name,
        "goes": [_amount(amount) for amount in shown.goes],
        "stays": [_amount(amount) for amount in shown.stays],
        "notes": shown.notes,
        "obstacle": shown.obstacle,
    }


def _deletion(deletion: Deletion) -> dict[str, Any]:
    return {
        "id": deletion.pk,
        "kind": deletion.kind,
        "name": deletion.name,
        "state": deletion.state,
        "progress": deletion.progress,
        "message": deletion.message,
        "gone": [_amount(amount) for amount in from_json(deletion.amounts)],
        "created": deletion.created.timestamp(),
    }


def _amount(amount: Amount) -> dict[str, Any]:
    return {
        "noun": amount.noun,
        "count": amount.count,
        "bytes": amount.bytes,
        "is_least": amount.is_least,
    }
