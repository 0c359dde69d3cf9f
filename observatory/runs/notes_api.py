"""REST API of notes on a cluster's timeline."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.views.decorators.http import conditional_page
from ninja import Router, Schema, Status
from ninja.decorators import decorate_view

from observatory.clusters.access import get_cluster
from observatory.clusters.api import seconds
from observatory.clusters.refusal import Refusal, refused
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken
from observatory.runs import access
from observatory.runs.api import ONLY_EDITORS
from observatory.runs.forms import NoteForm, NoteTextForm
from observatory.runs.models import Note

CHANGES = SessionOrToken(Scope.RUNS)
router = Router(tags=["notes"])


class NewNote(Schema):
    """Times are seconds since the epoch on the scheduler's clock. Without a stop it marks an instant."""

    time: float | None = None
    stop: float | None = None
    text: str = ""


class NoteChange(Schema):
    text: str = ""


class NoteOut(Schema):
    id: int
    time: float
    stop: float | None
    text: str
    author: str | None
    """user name; None if the account was deleted"""
    created: float
    edited: float | None
    may_change: bool
    """whether you may"""


@router.get("/clusters/{int:cluster_id}/notes", response=list[NoteOut])
@decorate_view(conditional_page)
def list_notes(request: HttpRequest, cluster_id: int) -> list[dict[str, Any]]:
    """All notes of a cluster, sorted by time. Supports conditional requests."""
    user = cast(User, request.user)
    cluster = get_cluster(user, cluster_id)
    may_change = access.note_changer(user, cluster)
    return [note_item(note, may_change(note)) for note in cluster.notes.select_related("author")]


@router.post("/clusters/{int:cluster_id}/notes", response={201: NoteOut, 422: Refusal}, auth=CHANGES)
def write_note(request: HttpRequest, cluster_id: int, new: NewNote) -> Any:
    """Writes a note, clipped to the recorded time of the cluster."""
    user = cast(User, request.user)
    cluster = get_cluster(user, cluster_id)
    if not access.may_cut_runs(user, cluster):
        raise PermissionDenied(ONLY_EDITORS)
    form = NoteForm(cluster, user, new.dict())
    return Status(201, note_item(form.save(), True)) if form.is_valid() else refused(form)


@router.patch(
    "/clusters/{int:cluster_id}/notes/{int:note_id}", response={200: NoteOut, 422: Refusal}, auth=CHANGES
)
def change_note(request: HttpRequest, cluster_id: int, note_id: int, change: NoteChange) -> Any:
    """Changes the text of your note. Owners of the project can change all notes."""
    form = NoteTextForm(change.dict(), instance=_note_to_change(request, cluster_id, note_id))
    return Status(200, note_item(form.save(), True)) if form.is_valid() else refused(form)


@router.delete("/clusters/{int:cluster_id}/notes/{int:note_id}", response={204: None}, auth=CHANGES)
def delete_note(request: HttpRequest, cluster_id: int, note_id: int) -> Any:
    """Deletes your note. Owners of the project can delete all notes."""
    _note_to_change(request, cluster_id, note_id).delete()
    return Status(204, None)


def _note_to_change(request: HttpRequest, cluster_id: int, note_id: int) -> Note:
    user = cast(User, request.user)
    cluster = get_cluster(user, cluster_id)
    note = cluster.notes.select_related("author").filter(pk=note_id).first()
    if note is None:
        raise Http404("This note doesn't exist.")
    if not access.note_changer(user, cluster)(note):
        raise PermissionDenied("Only the author of a note and owners of the project can change it.")
    return note


def note_item(note: Note, may_change: bool) -> dict[str, Any]:
    return {
        "id": note.pk,
        "time": note.time.timestamp(),
        "stop": seconds(note.stop),
        "text": note.text,
        "author": note.author.get_username() if note.author else None,
        "created": note.created.timestamp(),
        "edited": seconds(note.edited),
        "may_change": may_change,
    }
