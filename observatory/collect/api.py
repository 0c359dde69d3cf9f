"""The REST API of targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.forms.models import model_to_dict
from django.http import HttpRequest
from ninja import Field, Router, Schema, Status

from observatory.clusters import access
from observatory.clusters.live.status import target_status
from observatory.clusters.models import Target
from observatory.clusters.provisioning.marks import places_of, refuse_provisioned
from observatory.clusters.refusal import Refusal, refused
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken
from observatory.collect.credentials.schemas import CredentialsIn, Workers, credential_fields
from observatory.collect.credentials.storage import stored_parts
from observatory.collect.forms import TargetForm, target_form

CHANGES = SessionOrToken(Scope.TARGETS)
router = Router(tags=["targets"])


class TargetIn(Schema):
    project: Annotated[str, Field(pattern=r"^[-\w]{1,100}$")]
    """slug"""
    url: str
    name: str = ""
    enabled: bool = True
    workers: Workers = "direct"
    """How /metrics of workers are requested: at their own addresses without the credentials (direct), by
    http:// (http) or with the credentials (credentials), or through the scheduler's proxy (proxy)."""
    credentials: CredentialsIn = CredentialsIn()
    identity_interval: float = 1.0
    metrics_interval: float = 5.0
    series_limit: int = 100_000


class TargetChange(Schema):
    """Fields that are left out keep their value. A target cannot change its project."""

    url: str | None = None
    name: str | None = None
    enabled: bool | None = None
    workers: Workers | None = None
    credentials: CredentialsIn = CredentialsIn()
    identity_interval: float | None = None
    metrics_interval: float | None = None
    series_limit: int | None = None


class TargetOut(Schema):
    id: int
    project: str
    name: str
    url: str
    discovery: str | None
    """name of the discovery that found it"""
    provisioned: str | None
    """The file where it is changed, by `dask-observatory apply`. Null: it is changed here."""
    enabled: bool
    workers: Workers
    stored_credentials: list[str]
    """basic, token, headers, ca, certificate"""
    identity_interval: float
    metrics_interval: float
    series_limit: int
    state: str
    """paused, disk-full, not-stored, waiting, unreachable, contested, stolen, yielded, silent or receiving"""
    message: str
    last_seen: float | None
    """Seconds since the epoch on the scheduler's clock."""
    series_count: int
    series_refused: int


@router.get("/targets", response=list[TargetOut])
def list_targets(request: HttpRequest, project: str = "") -> list[dict[str, Any]]:
    """The targets of your projects, or of the project with the slug `project`."""
    targets = access.visible_targets(cast(User, request.user))
    if project:
        targets = targets.filter(project__slug=project)
    places = places_of(targets)
    return [_target(target, places) for target in targets]


@router.post("/targets", response={201: TargetOut, 422: Refusal}, auth=CHANGES)
def add_target(request: HttpRequest, new: TargetIn) -> Any:
    """Adds a target. Refused when the address cannot be reached or is not a Dask scheduler."""
    user = cast(User, request.user)
    project = access.get_project(user, new.project)
    if not access.may_set_targets(user, project):
        raise PermissionDenied("Only editors and owners of a project can change its targets.")
    return _saved(target_form(user, {**_fields(new, stored=[]), "project": project.pk}), 201)


@router.get("/targets/{target_id}", response=TargetOut)
def get_target(request: HttpRequest, target_id: int) -> dict[str, Any]:
    return _target(access.get_target(cast(User, request.user), target_id))


@router.patch("/targets/{target_id}", response={200: TargetOut, 422: Refusal}, auth=CHANGES)
def change_target(request: HttpRequest, target_id: int, change: TargetChange) -> Any:
    target = _target_to_set(request, target_id)
    data = {**model_to_dict(target, TargetForm.Meta.fields), **_fields(change, stored_parts(target.secret))}
    return _saved(target_form(cast(User, request.user), data, target), 200)


@router.delete("/targets/{target_id}", response={204: None}, auth=CHANGES)
def remove_target(request: HttpRequest, target_id: int) -> Any:
    """Removes a target. Its recorded clusters are kept."""
    _target_to_set(request, target_id).delete()
    return Status(204, None)


def _fields(sent: TargetIn | TargetChange, stored: list[str]) -> dict[str, Any]:
    """The data of a form."""
    return {
        **sent.dict(exclude_none=True, exclude={"credentials"}),
        **credential_fields(sent.credentials, stored),
    }


def _target_to_set(request: HttpRequest, target_id: int) -> Target:
    user = cast(User, request.user)
    target = access.get_target(user, target_id)
    if not access.may_set_targets(user, target.project):
        raise PermissionDenied("Only editors and owners of a project can change its targets.")
    refuse_provisioned(target)
    return target


def _saved(form: TargetForm, status: int) -> Any:
    return Status(status, _target(form.save())) if form.is_valid() else refused(form)


def _target(target: Target, places: Mapping[int, str] | None = None) -> dict[str, Any]:
    status = target_status(target)
    known = places_of([target]) if places is None else places
    return {
        "id": target.pk,
        "project": target.project.slug,
        "name": target.name,
        "url": target.url,
        "discovery": target.discovery.name if target.discovery else None,
        "provisioned": known.get(target.pk),
        "enabled": target.enabled,
        "workers": target.workers,
        "stored_credentials": stored_parts(target.secret),
        "identity_interval": target.identity_interval,
        "metrics_interval": target.metrics_interval,
        "series_limit": target.series_limit,
        "state": status.word,
        "message": status.sentence,
        "last_seen": target.last_seen.timestamp() if target.last_seen else None,
        "series_count": target.series_count,
        "series_refused": target.series_refused,
    }
