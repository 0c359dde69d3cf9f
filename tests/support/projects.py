"""Two projects, people of every role, a target and clusters: what tests of who may see what are about."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Cluster, Project, Target
from observatory.runs.models import Run

STARTED = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOSTILE = "<img src=x onerror=alert(1)>"


@dataclass
class World:
    """`people` are by their role in the project Alpha; the outsider owns Beta, the nobody is in no project.

    They have no passwords, whose hashing is slow by design.
    """

    alpha: Project
    beta: Project
    people: dict[str, User]
    target: Target
    live: Cluster
    ended: Cluster
    elsewhere: Cluster
    run: Run
    """of the live cluster"""
    clients: dict[str, Client] = field(default_factory=dict)

    def client(self, role: str) -> Client:
        """A signed-in client; the anonymous isn't."""
        if role not in self.clients:
            self.clients[role] = Client() if role == "anonymous" else signed_in(self.people[role])
        return self.clients[role]


def signed_in(user: User) -> Client:
    """A client with a session of the user's. Django's `force_login` makes 17 queries, this one."""
    client = Client()
    content = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
        HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    session = Session.objects.create(
        session_key=secrets.token_hex(16),
        session_data=SessionStore().encode(content),
        expire_date=timezone.now() + timedelta(days=1),
    )
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    return client


@pytest.fixture
def world(db: None) -> World:
    alpha = Project.objects.create(name="Alpha", slug="alpha")
    beta = Project.objects.create(name="Beta", slug="beta")
    names = ("owner", "editor", "viewer", "outsider", "nobody")
    made = [User(username=name, password=make_password(None)) for name in names]
    made.append(User(username="superuser", password=made[0].password, is_superuser=True, is_staff=True))
    people = {user.username: user for user in User.objects.bulk_create(made)}
    roles = [(alpha, name, name) for name in ("owner", "editor", "viewer")]
    Membership.objects.bulk_create(
        Membership(project=project, user=people[name], role=role)
        for project, name, role in [*roles, (beta, "outsider", Membership.Role.OWNER)]
    )
    target = Target.objects.create(project=alpha, name="analysis", url="http://10.1.2.3:8787")
    live = make_cluster(alpha, 1, target=target, name="morning")
    run = Run.objects.create(
        cluster=live,
        name="nightly of alpha",
        origin=Run.Origin.CUT,
        start=live.started,
        stop=live.started + timedelta(minutes=5),
    )
    return World(
        alpha,
        beta,
        people,
        target,
        live=live,
        ended=make_cluster(alpha, 2, target=target, name="evening", hours=2),
        elsewhere=make_cluster(beta, 3, name="secret of beta", hours=1),
        run=run,
    )


def make_cluster(
    project: Project, number: int, target: Target | None = None, name: str = "cluster", hours: float = 0
) -> Cluster:
    """A cluster that started `number` days after STARTED and ended `hours` later; 0 hours: it is live."""
    started = STARTED + timedelta(days=number)
    return Cluster.objects.create(
        project=project,
        target=target,
        scheduler_id=f"Scheduler-{number}",
        name=name,
        address=f"tcp://10.0.0.{number}:8786",
        started=started,
        last_seen=started + timedelta(hours=hours or 1),
        ended=started + timedelta(hours=hours) if hours else None,
        end_reason="the scheduler closed" if hours else "",
    )


def make_run(
    cluster: Cluster, name: str = "run", at: float = 0, minutes: float | None = 10, **fields: Any
) -> Run:
    """A run that began `at` minutes after its cluster; without `minutes` it goes on."""
    start = cluster.started + timedelta(minutes=at)
    stop = None if minutes is None else start + timedelta(minutes=minutes)
    outcome = Run.Outcome.FINISHED if stop else Run.Outcome.RUNNING
    known = {"origin": Run.Origin.FOUND, "outcome": outcome, "counted": timezone.now(), **fields}
    return Run.objects.create(cluster=cluster, name=name, start=start, stop=stop, **known)


def store_extent(cluster: Cluster, tasks: int = 0, errors: int = 0, workers: int = 0) -> None:
    """What the store's writer would have counted."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO extent (cluster_id, first, last, committed, version, spans, tasks, errors, workers)
               VALUES (%s, %s, %s, %s, 1, %s, %s, %s, %s)""",
            [
                cluster.pk,
                cluster.started,
                cluster.last_seen,
                cluster.last_seen,
                tasks,
                tasks,
                errors,
                workers,
            ],
        )
