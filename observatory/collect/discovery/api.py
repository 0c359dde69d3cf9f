"""The REST API of discoveries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.forms.models import model_to_dict
from django.http import HttpRequest
from ninja import Field, Router, Schema, Status

from observatory.clusters import access
from observatory.clusters.api import seconds
from observatory.clusters.models import Discovery
from observatory.clusters.provisioning.marks import places_of, refuse_provisioned
from observatory.clusters.refusal import Refusal, refused
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken
from observatory.collect.credentials.schemas import CredentialsIn, Workers, credential_fields
from observatory.collect.credentials.storage import stored_parts
from observatory.collect.discovery.form import DiscoveryForm, discovery_form
from observatory.collect.discovery.status import discovery_status

CHANGES = SessionOrToken(Scope.TARGETS)
router = Router(tags=["discoveries"])


class DiscoveryIn(Schema):
    project: Annotated[str, Field(pattern=r"^[-\w]{1,100}$")]
    """slug"""
    kind: str
    """http_sd, file_sd, kubernetes or gateway"""
    address: str = ""
    name: str = ""
    namespace: str = ""
    """of Kubernetes; "": all"""
    enabled: bool = True
    interval: float = 30.0
    """seconds between two requests of the list"""
    workers: Workers = "direct"
    """of found targets, as are the intervals"""
    credentials: CredentialsIn = CredentialsIn()
    shares_credentials: bool = False
    """whether found targets get the credentials, too"""
    identity_interval: float = 1.0
    metrics_interval: float = 5.0


class DiscoveryChange(Schema):
    """Fields that are left out keep their value. A discovery cannot change its project."""

    kind: str | None = None
    address: str | None = None
    name: str | None = None
    namespace: str | None = None
    enabled: bool | None = None
    interval: float | None = None
    workers: Workers | None = None
    credentials: CredentialsIn = CredentialsIn()
    shares_credentials: bool | None = None
    identity_interval: float | None = None
    metrics_interval: float | None = None


class DiscoveryOut(Schema):
    """Times are seconds since the epoch."""

    id: int
    project: str
    name: str
    kind: str
    address: str
    namespace: str
    enabled: bool
    interval: float
    workers: Workers
    stored_credentials: list[str]
    """basic, token, headers, ca, certificate"""
    shares_credentials: bool
    identity_interval: float
    metrics_interval: float
    state: str
    """paused, waiting, failing or answering"""
    message: str
    looked: float | None
    """when the list was requested last"""
    answered: float | None
    """when it arrived last"""
    found: int
    """clusters in the last list"""
    targets: int
    """targets that it found"""
    provisioned: str | None
    """The file where it is changed, by `dask-observatory apply`. Null: it is changed here."""


@router.get("/discoveries", response=list[DiscoveryOut])
def list_discoveries(request: HttpRequest, project: str = "") -> list[dict[str, Any]]:
    """The discoveries of your projects, or of the project with the slug `project`."""
    discoveries = access.visible_discoveries(cast(User, request.user)).annotate(count=Count("targets"))
    if project:
        discoveries = discoveries.filter(project__slug=project)
    places = places_of(discoveries)
    return [_discovery(discovery, discovery.count, places) for discovery in discoveries]


@router.post("/discoveries", response={201: DiscoveryOut, 422: Refusal}, auth=CHANGES)
def add_discovery(request: HttpRequest, new: DiscoveryIn) -> Any:
    """Adds a discovery. Its list is requested within some seconds."""
    user = cast(User, request.user)
    project = access.get_project(user, new.project)
    if not access.may_set_targets(user, project):
        raise PermissionDenied("Only editors and owners of a project can change its discoveries.")
    return _saved(discovery_form(user, {**_fields(new, stored=[]), "project": project.pk}), 201)


@router.get("/discoveries/{discovery_id}", response=DiscoveryOut)
def get_discovery(request: HttpRequest, discovery_id: int) -> dict[str, Any]:
    discovery = access.get_discovery(cast(User, request.user), discovery_id)
    return _discovery(discovery, discovery.targets.count())


@router.patch("/discoveries/{discovery_id}", response={200: DiscoveryOut, 422: Refusal}, auth=CHANGES)
def change_discovery(request: HttpRequest, discovery_id: int, change: DiscoveryChange) -> Any:
    """Changes a discovery. Targets that it found before keep their settings, and get changed credentials."""
    discovery = _discovery_to_set(request, discovery_id)
    before = model_to_dict(discovery, DiscoveryForm.Meta.fields)
    data = {**before, **_fields(change, stored_parts(discovery.secret))}
    return _saved(discovery_form(cast(User, request.user), data, discovery), 200)


@router.delete("/discoveries/{discovery_id}", response={204: None}, auth=CHANGES)
def remove_discovery(request: HttpRequest, discovery_id: int) -> Any:
    """Removes a discovery and the targets that it found. Their recorded clusters are kept."""
    _discovery_to_set(request, discovery_id).delete()
    return Status(204, None)


def _fields(sent: DiscoveryIn | DiscoveryChange, stored: list[str]) -> dict[str, Any]:
    """The data of a form."""
    return {
        **sent.dict(exclude_none=True, exclude={"credentials"}),
        **credential_fields(sent.credentials, stored),
    }


def _discovery_to_set(request: HttpRequest, discovery_id: int) -> Discovery:
    user = cast(User, request.user)
    discovery = access.get_discovery(user, discovery_id)
    if not access.may_set_targets(user, discovery.project):
        raise PermissionDenied("Only editors and owners of a project can change its discoveries.")
    refuse_provisioned(discovery)
    return discovery


def _saved(form: DiscoveryForm, status: int) -> Any:
    if not form.is_valid():
        return refused(form)
    saved = form.save()
    return Status(status, _discovery(saved, saved.targets.count()))


def _discovery(discovery: Discovery, targets: int, places: Mapping[int, str] | None = None) -> dict[str, Any]:
    status = discovery_status(discovery)
    known = places_of([discovery]) if places is None else places
    return {
        "id": discovery.pk,
        "project": discovery.project.slug,
        "name": discovery.name,
        "kind": discovery.kind,
        "address": discovery.address,
        "namespace": discovery.namespace,
        "enabled": discovery.enabled,
        "interval": discovery.interval,
        "workers": discovery.workers,
        "stored_credentials": stored_parts(discovery.secret),
        "shares_credentials": discovery.shares_credentials,
        "identity_interval": discovery.identity_interval,
        "metrics_interval": discovery.metrics_interval,
        "state": status.word,
        "message": status.sentence,
        "looked": seconds(discovery.looked),
        "answered": seconds(discovery.answered),
        "found": discovery.found,
        "targets": targets,
        "provisioned": known.get(discovery.pk),
    }
