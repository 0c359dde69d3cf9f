"""Projects: their settings. What is written in a project belongs to it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet

from observatory.clusters.access import projects_to_manage
from observatory.clusters.accounts.models import Invitation, Membership
from observatory.clusters.models import Cluster, Discovery, Project, Target
from observatory.clusters.tokens.models import IngestToken
from observatory.pages.projects.forms import ProjectForm
from observatory.runtime.configuration.fields import Field, Value
from observatory.runtime.configuration.kind import ACTOR, Item, Kind
from observatory.runtime.configuration.nodes import Mapping as Node
from observatory.runtime.configuration.nodes import Problems, Scalar

RATES = ("ingest_rate", "link_rate", "export_rate")


class WholeProjectForm(ProjectForm):
    """With what superusers set in the admin."""

    class Meta(ProjectForm.Meta):
        fields = ("slug", "quota_gib", *RATES, *ProjectForm.Meta.fields)  # type: ignore[assignment]


class ProjectKind(Kind):
    name, section, model = "project", "projects", Project
    fields = (
        Field("slug"),
        Field("name"),
        Field("retention_days", is_always_written=True),
        Field("quota_gib"),
        *map(Field, RATES),
        Field("run_idle_seconds"),
        Field("thread_hour_price"),
        Field("gib_hour_price"),
        Field("worker_hour_price"),
        Field("currency"),
    )
    further_keys = ("groups", "targets", "discoveries")

    def key_of(self, row: Project) -> str:
        return row.slug

    def written_key(self, node: Node, project: str, problems: Problems) -> str | None:
        return self._identifying_text("slug", node, problems)

    def identity(self, item: Item) -> Hashable:
        return item.key

    def identities_of(self, row: Project) -> list[Hashable]:
        return [row.slug]

    def unique_name(self, item: Item) -> Hashable:
        node = item.node.entries.get("name")
        return node.text if isinstance(node, Scalar) else None

    def unique_name_of(self, row: Project) -> Hashable:
        return row.name

    def candidates(self) -> QuerySet[Project]:
        return Project.objects.filter(is_own=False)

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        return WholeProjectForm(data, instance=item.existing)

    def rows(self) -> QuerySet[Project]:
        return projects_to_manage(ACTOR).order_by("slug")

    def note(self, before: Mapping[str, Value], after: Mapping[str, Value]) -> str:
        days = after["retention_days"]
        if before and before["retention_days"] > days:
            return f"Records that are older than {days} days go, a day after this is applied."
        return ""

    def remove(self, row: Project) -> str:
        """Only where it has nothing that was recorded or that people made."""
        has = [
            f"{count} {words}"
            for count, words in (
                (Cluster.objects.filter(project=row).count(), "recorded clusters"),
                (Target.objects.filter(project=row).count(), "targets"),
                (Discovery.objects.filter(project=row).count(), "discoveries"),
                (Membership.objects.filter(project=row, by_groups=False).count(), "members by hand"),
                (IngestToken.objects.filter(project=row).count(), "ingest tokens"),
                (Invitation.objects.filter(project=row).count(), "invitations"),
            )
            if count
        ]
        if has:
            return f"It has {', '.join(has)}. `dask-observatory delete project {row.slug}` deletes it."
        return super().remove(row)
