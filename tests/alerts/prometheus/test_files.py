"""Files of Prometheus' rules into the database and out of it: by command, and in the admin."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from observatory.alerts.models import Rule
from observatory.alerts.prometheus.files import export_rules, import_rules
from observatory.alerts.rules.condition_rows import spec_of
from observatory.alerts.rules.ready_made import RULES, make
from observatory.alerts.rules.validation import problems
from tests.support.projects import HOSTILE, World

FILE = f"""
groups:
  - name: dask
    rules:
      - alert: Threads
        expr: sum (observatory_cluster_threads) > 100
        for: 5m
        labels: {{severity: critical, team: data}}
      - alert: Quantiles of {HOSTILE}
        expr: histogram_quantile(0.9, rate(requests_bucket[5m])) > 1
      - alert: Unknown
        expr: sum(no_such_metric) > 1
"""


def test_supported_rules_are_imported_and_others_are_listed(db: None) -> None:
    imported = import_rules(FILE)
    rule = Rule.objects.get()
    assert imported.rules == [rule]
    assert (rule.name, rule.enabled, rule.severity, rule.hold_seconds) == ("Threads", False, "critical", 300)
    assert [row.metric for row in rule.conditions.all()] == ["observatory_cluster_threads"]
    assert imported.notes == [
        ("Threads", "the label team='data' is left out: alerts have the labels of their data")
    ]
    assert [left.name for left in imported.left_out] == [f"Quantiles of {HOSTILE}", "Unknown"]
    assert "no_such_metric" in imported.left_out[1].why
    again = import_rules(FILE)
    assert again.rules == []
    assert "a rule with this name exists" in again.left_out[1].why


def test_an_exported_rule_is_equivalent_after_import(db: None) -> None:
    make()
    before = {rule.name: spec_of(rule, list(rule.conditions.all())) for rule in Rule.objects.all()}
    text = export_rules(Rule.objects.all())
    Rule.objects.all().delete()
    imported = import_rules(text)
    assert imported.left_out == []
    assert {rule.name for rule in imported.rules} | set(left_out(text)) == before.keys()
    for rule in imported.rules:
        after = spec_of(rule, list(rule.conditions.all()))
        assert after.hold == before[rule.name].hold
        for was, is_now in zip(before[rule.name].conditions, after.conditions, strict=True):
            assert (is_now.selector, is_now.by, is_now.other) == (was.selector, was.by, was.other)
            assert (is_now.comparison, is_now.threshold) == (was.comparison, was.threshold)
    assert set(left_out(text)) == {
        "Worker memory",
        "Unmanaged memory",
        "Worker paused",
        "Worker lost",
        "KilledWorker",
        "Task errors",
        "Unreachable",
        "Agent silent",
        "Collector behind",
        "Records dropped",
        "New errors",
        "Slower run",
    }


def left_out(text: str) -> list[str]:
    return [line.split(": ")[1] for line in text.splitlines() if line.startswith("# Left out: ")]


def test_each_ready_made_rule_is_valid(db: None) -> None:
    make()
    assert Rule.objects.count() == len(RULES)
    for rule in Rule.objects.all():
        assert problems(rule, list(rule.conditions.all())) == []


def test_commands_import_and_export(world: World, tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(FILE)
    said = StringIO()
    call_command("import_rules", str(file), "--enable", "--project", "alpha", stdout=said)
    rule = Rule.objects.get()
    assert rule.enabled
    assert list(rule.projects.all()) == [world.alpha]
    assert "Imported: Threads" in said.getvalue()
    assert "Left out: Unknown: " in said.getvalue()
    written = StringIO()
    call_command("export_rules", "Threads", stdout=written)
    [exported] = yaml.safe_load(written.getvalue())["groups"][0]["rules"]
    assert exported["expr"] == "sum (observatory_cluster_threads) > 100.0"
    with pytest.raises(CommandError, match="Unknown project"):
        call_command("import_rules", str(file), "--project", "nowhere")
    file.write_text("a: [")
    with pytest.raises(CommandError, match="can't be read"):
        call_command("import_rules", str(file))


def test_the_import_page_lists_unsupported_rules(world: World) -> None:
    client = world.client("superuser")
    url = reverse("admin:alerts_rule_import_from_prometheus")
    assert client.get(url).status_code == 200
    empty = client.post(url, {"text": " "})
    assert "Choose a file or paste its text." in empty.content.decode()
    wrong = client.post(url, {"text": "a: &b [*b]"})
    assert "has an alias" in wrong.content.decode()
    binary = client.post(url, {"file": SimpleUploadedFile("rules.yml", b"\xff\xfe")})
    assert "isn&#x27;t UTF-8 text" in binary.content.decode()
    assert not Rule.objects.exists()
    page = client.post(url, {"file": SimpleUploadedFile("rules.yml", FILE.encode())}).content.decode()
    rule = Rule.objects.get()
    assert (rule.enabled, rule.created_by) == (False, world.people["superuser"])
    assert reverse("admin:alerts_rule_change", args=[rule.pk]) in page
    assert "the function histogram_quantile isn&#x27;t supported" in page
    assert page.count("<strong>Threads</strong>") == 1
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert HOSTILE not in page


def test_the_list_of_rules_can_be_exported(world: World) -> None:
    client = world.client("superuser")
    import_rules(FILE)
    other = Rule.objects.create(name="Other")
    exported = client.get(reverse("admin:alerts_rule_export_all"))
    assert exported.headers["Content-Disposition"] == 'attachment; filename="observatory-rules.yml"'
    assert b"Threads" in exported.content
    assert b"Left out: Other" in exported.content
    selected = client.post(
        reverse("admin:alerts_rule_changelist"),
        {"action": "export_selected", "_selected_action": [other.pk]},
    )
    assert b"Left out: Other" in selected.content
    assert b"Threads" not in selected.content


def test_importing_requires_the_permission_to_add_rules(world: World) -> None:
    for role in ("anonymous", "editor"):
        for name in ("import_from_prometheus", "export_all"):
            answer = world.client(role).get(reverse(f"admin:alerts_rule_{name}"))
            assert answer.status_code in (302, 403, 404)


def test_staff_import_only_for_their_projects(world: World) -> None:
    owner = world.people["owner"]
    owner.is_staff = True
    owner.save()
    for action in ("add", "view", "change"):
        owner.user_permissions.add(Permission.objects.get(codename=f"{action}_rule"))
    client, url = world.client("owner"), reverse("admin:alerts_rule_import_from_prometheus")
    client.post(url, {"text": FILE})
    client.post(url, {"text": FILE, "projects": [world.beta.pk]})
    assert not Rule.objects.exists()
    client.post(url, {"text": FILE, "projects": [world.alpha.pk]})
    assert list(Rule.objects.get().projects.all()) == [world.alpha]
