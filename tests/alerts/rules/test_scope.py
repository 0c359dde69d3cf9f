"""The clusters that a rule applies to."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.alerts.evaluation.active_rules import RuleErrors, load_active_rules
from observatory.alerts.models import Rule
from observatory.alerts.rules.scope import RuleScope
from observatory.clusters.models import Cluster
from tests.support.projects import World, world

__all__ = ["world"]

pytestmark = pytest.mark.django_db


def rule(**fields: Any) -> Rule:
    return Rule.objects.create(name=f"rule {Rule.objects.count()}", **fields)


def clusters_of(rule: Rule) -> set[Cluster]:
    """The clusters of the query, which must be those that `includes` accepts."""
    scope = RuleScope.of(rule)
    found = set(scope.clusters())
    assert found == {cluster for cluster in Cluster.objects.all() if scope.includes(cluster)}
    return found


def test_a_rule_without_a_scope_applies_to_every_cluster(world: World) -> None:
    assert clusters_of(rule()) == {world.live, world.ended, world.elsewhere}


def test_projects_targets_and_names_must_all_match(world: World) -> None:
    of_alpha, of_target = rule(), rule(cluster_names="even*\n")
    of_alpha.projects.add(world.alpha)
    of_target.targets.add(world.target)
    assert clusters_of(of_alpha) == {world.live, world.ended}
    assert clusters_of(of_target) == {world.ended}


def test_names_are_case_sensitive_patterns_one_per_line(world: World) -> None:
    assert clusters_of(rule(cluster_names=" mor?ing \n\nsecret*")) == {world.live, world.elsewhere}
    assert clusters_of(rule(cluster_names="Morning")) == set()


def test_disabled_rules_are_not_evaluated(world: World) -> None:
    rule(enabled=False)
    active = rule()
    assert [found.rule for found in load_active_rules(RuleErrors())] == [active]
