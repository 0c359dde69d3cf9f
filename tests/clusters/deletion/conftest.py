"""Two projects that have everything that can belong to a project, and people who made it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.conf import LazySettings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.utils.timezone import now

from observatory.alerts.models import (
    Channel,
    Condition,
    Delivery,
    MaintenanceWindow,
    Progress,
    Rule,
    Silence,
)
from observatory.alerts.secrets import encrypt
from observatory.clusters.accounts.models import GroupRole, Invitation
from observatory.clusters.models import Cluster, Discovery, Project, Target
from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.clusters.tokens.models import IngestRefusal
from observatory.collect.quarantine import folder as quarantine
from observatory.collect.quarantine.encoding import About
from observatory.exchange.jobs import folder
from observatory.exchange.models import Job
from observatory.runs.models import Note, Permalink, RunError, RunFindings, SavedFilter, Usage
from observatory.runs.sharing.link_tokens import stored
from observatory.store.connection import connect
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.schema.dimensions import DIMENSIONS
from observatory.store.schema.time_series import time_series
from tests.exchange.everything import write_everything
from tests.support.projects import World, make_run, world
from tests.support.stored_alerts import make_alert

__all__ = ["world"]

TABLES = (*DIMENSIONS, *(table.name for table in time_series()))
Rows = dict[type[Model], set[Any]]


@pytest.fixture(autouse=True)
def _own_folder(settings: LazySettings, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path / "data"


@dataclass
class Filled:
    """The world, in which both projects have everything; by project: what else there is."""

    world: World
    rules: dict[str, Rule] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    everywhere: Rule | None = None

    @property
    def to_all(self) -> Rule:
        assert self.everywhere is not None
        return self.everywhere


@pytest.fixture
def filled(transactional_db: None, world: World) -> Iterator[Filled]:
    filled = Filled(world)
    filled.everywhere = Rule.objects.create(name="everywhere")
    for project, cluster, maker in (
        (world.alpha, world.ended, world.people["editor"]),
        (world.beta, world.elsewhere, world.people["outsider"]),
    ):
        _fill(filled, project, cluster, maker)
    yield filled
    with connect() as connection:
        clusters = connection.execute("SELECT cluster_id FROM extent").fetchall()
    for (cluster,) in clusters:
        delete_cluster(cluster)


def _fill(filled: Filled, project: Project, cluster: Cluster, maker: Any) -> None:
    slug = project.slug
    rule = filled.rules[slug] = Rule.objects.create(name=f"of {slug}", created_by=maker)
    Condition.objects.create(rule=rule, metric="dask_scheduler_workers")
    channel = filled.channels[slug] = Channel.objects.create(
        name=f"channel of {slug}", secret=encrypt("https://example.org/hook"), created_by=maker
    )
    silence = Silence.objects.create(matchers='rule="x"', expires=now(), comment="silent", created_by=maker)
    window = MaintenanceWindow.objects.create(name=slug, starts=now(), stops=now(), created_by=maker)
    for limited in (rule, channel, silence, window):
        limited.projects.add(project)
    for number, of in enumerate((rule, filled.to_all)):
        alert = make_alert(
            cluster, of.name, at=60 + number, resolved=90, acknowledged=now(), acknowledged_by=maker
        )
        for change in ("firing", "resolved"):
            Delivery.objects.create(channel=channel, alert=alert, change=change, state="sent", sent=now())
    Progress.objects.create(cluster=cluster, until=now(), settled=now())
    Target.objects.get_or_create(project=project, name="other", url="http://10.9.9.9:8787")
    listed = Discovery.objects.create(
        project=project, name="list", kind="http_sd", address="http://10.2.2.2/"
    )
    Target.objects.create(project=project, name="found", url="http://10.9.9.8:8787", discovery=listed)
    token, _ = ingest_tokens.make(project, "agents", maker)
    IngestRefusal.objects.create(token=token, reason="batch", detail="no", address="10.1.1.1", last=now())
    GroupRole.objects.create(group="platform", project=project)
    Invitation.objects.create(project=project, digest=f"{slug:x<64}", created_by=maker, expires=now())
    Note.objects.create(cluster=cluster, time=cluster.started, text="here", author=maker)
    run = make_run(cluster, name="nightly", created_by=maker)
    Permalink.objects.create(run=run, created_by=maker, **stored(slug))
    Usage.objects.create(cluster=cluster, run=run, day="2026-05-06", until=now())
    RunError.objects.create(
        run=run, exception_type="E", place="p", prefix="inc", count=1, first=now(), last=now(), last_id=UUID
    )
    RunFindings.objects.create(run=run, state="none", counted=now())
    job = Job.objects.create(kind="export", user=maker, run=run, project=project, state="done", file_name="f")
    with folder.create(job.pk) as file:
        file.write(b"x" * 1000)
    write_everything(cluster.pk)
    with connect() as connection:
        connection.execute("INSERT INTO tile VALUES (%s, 'spans', 20, 1, 1, 'body')", [cluster.pk])
    _quarantine(cluster)


UUID = "00000000-0000-4000-8000-000000000001"


def _quarantine(cluster: Cluster) -> None:
    about = About(cluster.pk, 5, 1_790_000_000.0, "a reason", True, 0)
    quarantine.folder().mkdir(parents=True, exist_ok=True)
    path = quarantine.folder() / f"20260101T000000Z-{cluster.pk:08x}.batch"
    path.write_bytes(gzip.compress(json.dumps(asdict(about)).encode() + b"\nbody"))


def own_of(person: Any, client_cookie: str) -> None:
    """What is a person's alone, and rows that name the person."""
    access_tokens.make(person, "notebook", None)
    SavedFilter.objects.create(user=person, name="mine", query="name=x")
    named = {"username": person.username, "ip_address": "10.1.1.1", "user_agent": "x", "path_info": "/"}
    AccessLog.objects.create(**named)
    AccessAttempt.objects.create(**named, get_data="", post_data="", failures_since_start=1)
    AccessFailureLog.objects.create(**named)
    users = ContentType.objects.get(app_label="auth", model="user")
    root = type(person).objects.get(username="superuser")
    about = {"content_type": users, "object_id": str(person.pk), "object_repr": person.username}
    LogEntry.objects.create(user=root, action_flag=CHANGE, **about)
    LogEntry.objects.create(user=person, action_flag=CHANGE, **{**about, "object_id": "1"})


def all_rows() -> Rows:
    """The keys of all rows of all models, without those of tables between two and of deletions."""
    models = [model for model in apps.get_models() if model._meta.label_lower != "clusters.deletion"]
    return {model: set(model._base_manager.values_list("pk", flat=True)) for model in models}


def store_rows(cluster: Cluster | int) -> dict[str, int]:
    """By table of the store."""
    number = cluster if isinstance(cluster, int) else cluster.pk
    with connect() as connection:
        found = {}
        for table in TABLES:
            row = connection.execute(
                f"SELECT count(*) FROM {table} WHERE cluster_id = %s", [number]
            ).fetchone()
            found[table] = row[0] if row else 0
    return found


def records(rows: dict[str, int]) -> int:
    return sum(rows[table.name] for table in time_series())


def files() -> list[str]:
    """Of exports and of the quarantine."""
    return sorted(path.name for path in [*folder.path_of(0).parent.glob("*"), *quarantine.files()])
