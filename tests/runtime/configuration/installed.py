"""What an installation has, and small files that declare some of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from observatory.alerts.models import Channel, MaintenanceWindow, Rule, Silence
from observatory.clusters.accounts.models import GroupRole
from observatory.clusters.models import Cluster, Discovery, Project, Provisioned, Target
from observatory.exchange.models import Receiver

ETL = "projects: [{slug: etl, name: ETL}]\n"


MODELS = (
    Project,
    GroupRole,
    Target,
    Discovery,
    Rule,
    Channel,
    Receiver,
    Silence,
    MaintenanceWindow,
    Provisioned,
)


def stored() -> dict[str, list[dict[str, Any]]]:
    """All rows, with all columns."""
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in MODELS}


def cluster_of(project: Project, target: Target | None = None) -> Cluster:
    return Cluster.objects.create(
        project=project,
        target=target,
        scheduler_id="Scheduler-1",
        name="recorded",
        started=datetime(2026, 5, 4, tzinfo=UTC),
        last_seen=datetime(2026, 5, 4, tzinfo=UTC),
    )


def named(*targets: tuple[str, int]) -> str:
    """A project with targets of these names at the hosts 10.0.0.N."""
    listed = ", ".join(f"{{name: {name}, url: 'http://10.0.0.{host}:8787'}}" for name, host in targets)
    return ETL.replace("ETL}", f"ETL, targets: [{listed}]}}")
