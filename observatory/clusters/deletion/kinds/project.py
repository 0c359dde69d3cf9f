"""Projects. Recording into them stops first: their targets are paused and their ingest tokens revoked."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.timezone import now

from observatory.clusters import access
from observatory.clusters.accounts.models import Membership
from observatory.clusters.deletion.kind import Deletable, register
from observatory.clusters.models import Cluster, Discovery, Project, Target
from observatory.clusters.tokens.models import IngestToken


class DeletableProject(Deletable):
    name, model = "project", Project
    last = (Membership,)
    refusal = "Only owners of a project can delete it."

    def seen(self, user: User) -> QuerySet[Project]:
        return access.visible_projects(user)

    def may_delete(self, user: User, subject: Project) -> bool:
        return access.may_manage(user, subject)

    def referred(self, reference: str) -> QuerySet[Project]:
        return Project.objects.filter(slug=reference)

    def reference_to(self, subject: Project) -> str:
        return subject.slug

    def page_of(self, subject: Project) -> str:
        return reverse("project", args=[subject.slug])

    def obstacle(self, subject: Project) -> str:
        if subject.is_own:
            return "Observatory needs its own project and would create it again."
        return super().obstacle(subject)

    def notes(self, subject: Project) -> list[str]:
        live = Cluster.objects.filter(project=subject, ended=None).count()
        if not live:
            return []
        are = "cluster is" if live == 1 else "clusters are"
        return [
            f"{live} {are} live. Recording stops first: targets are paused and ingest tokens revoked. "
            "The clusters themselves go on."
        ]

    def stop(self, subject: Project) -> None:
        Discovery.objects.filter(project=subject).update(enabled=False)
        Target.objects.filter(project=subject).update(enabled=False)
        IngestToken.objects.filter(project=subject, revoked=None).update(revoked=now())


register(DeletableProject())
