from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from observatory.alerts.models import Rule, Severity
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.conditions import By, EventCondition
from observatory.alerts.rules.events import TASK_ERRED
from observatory.clusters.models import Project, Target
from observatory.collect.management.commands.watch import find_project

NAME = "demo"
RULE = "Demo: tasks fail"
FAILURES = EventCondition(TASK_ERRED.name, By.CLUSTER, count=5, window=20.0)
"""they are over soon: the alert resolves before the demo's next run ends"""


class Command(BaseCommand):
    help = "Adds the demo's scheduler as a target and a rule for it, or updates the target's address."
    is_internal = True
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url")

    def handle(self, url: str, **options: Any) -> None:
        project = find_project("")
        _make_rule(project)
        if Target.objects.filter(project=project, url=url).update(enabled=True):
            return
        Target.objects.update_or_create(project=project, name=NAME, defaults={"url": url, "enabled": True})


@transaction.atomic
def _make_rule(project: Project) -> None:
    texts = {
        "severity": Severity.INFO,
        "description": "Five tasks or more failed within 20 seconds: a rule that shows how an alert ends.",
        "advice": "Open the errors of the run “flaky export”. The demo lets every seventh of its tasks fail.",
        "message": "{cluster}: {value} tasks failed: {text}",
        "cluster_names": NAME,
    }
    rule, is_new = Rule.objects.get_or_create(name=RULE, defaults=texts)
    if is_new:
        rule.projects.add(project)
        for row in rows_of((FAILURES,)):
            row.rule = rule
            row.save()
