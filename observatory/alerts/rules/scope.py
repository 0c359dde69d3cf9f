"""The clusters that a rule applies to: by project, target and name. An empty part means all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from django.db.models import QuerySet

from observatory.alerts.models import Condition, Rule
from observatory.clusters.models import Cluster, Project, Target
from observatory.wire.metrics import METRICS


@dataclass(frozen=True, slots=True)
class RuleScope:
    """Primary keys and name patterns; empty means all."""

    projects: frozenset[int]
    targets: frozenset[int]
    patterns: tuple[str, ...]
    is_own: bool | None = None
    """True: Observatory itself, whatever the other parts say; False: everything else; None: both"""

    @classmethod
    def of(cls, rule: Rule) -> RuleScope:
        """Needs no query if the rule's conditions, projects and targets are prefetched."""
        is_own = is_on_observatory(rule.conditions.all())
        return cls.over(rule.projects.all(), rule.targets.all(), rule.cluster_names, is_own)

    @classmethod
    def over(
        cls,
        projects: Iterable[Project],
        targets: Iterable[Target],
        names: str = "",
        is_own: bool | None = None,
    ) -> RuleScope:
        """`names` has one pattern per line."""
        return cls(
            frozenset(project.pk for project in projects),
            frozenset(target.pk for target in targets),
            tuple(line.strip() for line in names.splitlines() if line.strip()),
            is_own,
        )

    def includes(self, cluster: Cluster) -> bool:
        if self.is_own is not None and (self.is_own or cluster.project.is_own):
            return self.is_own and cluster.project.is_own
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
        if self.is_own is not None:
            found = found.filter(project__is_own=self.is_own)
        if self.is_own:
            return found
        if self.projects:
            found = found.filter(project__in=self.projects)
        if self.targets:
            found = found.filter(target__in=self.targets)
        if self.patterns:
            names = found.order_by().values_list("name", flat=True).distinct()
            found = found.filter(name__in=[name for name in names if self._matches_name(name)])
        return found


def is_on_observatory(conditions: Iterable[Condition]) -> bool:
    """True if the conditions, saved or not, are on Observatory's own metrics: it is their only scope."""
    return any(is_own_metric(each.metric) for each in conditions if each.kind == Condition.Kind.METRIC)


def is_own_metric(name: str) -> bool:
    metric = METRICS.get(name)
    return metric is not None and metric.is_own
