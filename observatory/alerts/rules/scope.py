"""The clusters that a rule applies to: by project, target and name. An empty part means all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from django.db.models import QuerySet

from observatory.alerts.models import Rule
from observatory.clusters.models import Cluster, Project, Target


@dataclass(frozen=True, slots=True)
class Scope:
    """Primary keys and name patterns; empty means all."""

    projects: frozenset[int]
    targets: frozenset[int]
    patterns: tuple[str, ...]

    @classmethod
    def of(cls, rule: Rule) -> Scope:
        """Needs no query if the rule's projects and targets are prefetched."""
        return cls.over(rule.projects.all(), rule.targets.all(), rule.cluster_names)

    @classmethod
    def over(cls, projects: Iterable[Project], targets: Iterable[Target], names: str = "") -> Scope:
        """`names` has one pattern per line."""
        return cls(
            frozenset(project.pk for project in projects),
            frozenset(target.pk for target in targets),
            tuple(line.strip() for line in names.splitlines() if line.strip()),
        )

    def includes(self, cluster: Cluster) -> bool:
        return (
            (not self.projects or cluster.project_id in self.projects)
            and (not self.targets or cluster.target_id in self.targets)
            and self._matches_name(cluster.name)
        )

    def _matches_name(self, name: str) -> bool:
        return not self.patterns or any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def clusters(self) -> QuerySet[Cluster]:
        """All clusters in scope, live and ended."""
        found = Cluster.objects.all()
        if self.projects:
            found = found.filter(project__in=self.projects)
        if self.targets:
            found = found.filter(target__in=self.targets)
        if self.patterns:
            names = found.order_by().values_list("name", flat=True).distinct()
            found = found.filter(name__in=[name for name in names if self._matches_name(name)])
        return found
