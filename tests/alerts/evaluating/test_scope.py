"""Where a rule is asked."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.alerts.models import Rule
from observatory.alerts.rules.scope import clusters_of, rules_of
from tests.world import World, world

__all__ = ["world"]

pytestmark = pytest.mark.django_db


def rule(**fields: Any) -> Rule:
    return Rule.objects.create(name=f"rule {Rule.objects.count()}", **fields)


def test_a_rule_without_a_scope_is_asked_of_every_cluster(world: World) -> None:
    assert set(clusters_of(rule())) == {world.live, world.ended, world.elsewhere}


def test_projects_targets_and_names_all_have_to_fit(world: World) -> None:
    of_alpha, of_target = rule(), rule(cluster_names="even*\n")
    of_alpha.projects.add(world.alpha)
    of_target.targets.add(world.target)
    assert set(clusters_of(of_alpha)) == {world.live, world.ended}
    assert set(clusters_of(of_target)) == {world.ended}
    assert rules_of(world.live) == [of_alpha]
    assert rules_of(world.ended) == [of_alpha, of_target]
    assert rules_of(world.elsewhere) == []


def test_names_are_patterns_a_line_whose_case_counts(world: World) -> None:
    assert set(clusters_of(rule(cluster_names=" mor?ing \n\nsecret*"))) == {world.live, world.elsewhere}
    assert set(clusters_of(rule(cluster_names="Morning"))) == set()


def test_disabled_rules_are_not_asked(world: World) -> None:
    rule(enabled=False)
    assert rules_of(world.live) == []
