"""`dask-observatory apply`: what it adds, changes, removes and leaves alone."""

from __future__ import annotations

import socket
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from observatory.alerts.models import Channel, MaintenanceWindow, Rule, Silence
from observatory.alerts.secrets import decrypt
from observatory.clusters.accounts.models import GroupRole
from observatory.clusters.models import Discovery, Project, Provisioned, Target
from observatory.collect.credentials.storage import unseal
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import CONFIGURATION, try_lock
from tests.runtime.configuration.conftest import EXAMPLE, Write, apply, plan, refusal
from tests.runtime.configuration.installed import ETL, cluster_of, named, stored
from tests.support.stored_alerts import make_alert

RULE = """
rules:
  - name: Memory
    projects: [etl]
    conditions: [{quantity: worker-memory, threshold: 80 %}]
"""


def test_the_example_is_planned_applied_and_then_there_is_nothing_to_do(installation: None) -> None:
    before = stored()
    code, said = plan(EXAMPLE)
    assert code == 2
    assert "13 to add, 1 to change, 1 to remove, 0 to let go of, 0 unchanged." in said
    assert stored() == before
    apply(EXAMPLE)
    after = stored()
    assert apply(EXAMPLE) == "No changes: all 14 are as the files say.\n"
    assert stored() == after
    assert plan(EXAMPLE) == (0, "No changes: all 14 are as the files say.\n")


def test_what_the_example_says_is_stored(installation: None) -> None:
    apply(EXAMPLE)
    etl = Project.objects.get(slug="etl")
    assert (etl.name, etl.retention_days, etl.quota_gib, etl.currency) == ("ETL", 90, 200, "EUR")
    roles = dict(GroupRole.objects.filter(project=etl).values_list("group", "role"))
    assert roles == {"data-platform": "owner", "etl-developers": "editor", "analysts": "viewer"}
    assert unseal(Target.objects.get(name="interactive").secret).token == "S3CR3T"
    assert Discovery.objects.get().interval == 60
    memory = Rule.objects.get(key="worker-memory")
    [condition] = memory.conditions.all()
    assert (condition.threshold, condition.clear_threshold, memory.hold_seconds) == (0.8, None, 30)
    assert memory.advice, "what isn't written of a ready-made rule is as it was made"
    threads = Rule.objects.get(name="Threads")
    assert threads.cluster_names.split() == ["nightly-*", "backfill-?"]
    assert [target.name for target in threads.targets.all()] == ["nightly"]
    assert not Rule.objects.filter(key="idle-cluster").exists()
    channel = Channel.objects.get()
    assert decrypt(channel.secret) == "https://alerts.example.org/T0K3N"
    assert {rule.name for rule in channel.rules.all()} == {"Nightly run is slow", "Worker memory"}
    assert Silence.objects.get().projects.get() == etl
    assert MaintenanceWindow.objects.get().repeat == "weekly"


def test_a_plan_names_each_changed_field_with_its_old_and_new_value(installation: None, write: Write) -> None:
    apply(write(ETL + RULE))
    changed = RULE.replace("80 %", "85 %").replace("projects", "for: 2 min\n    projects")
    code, said = plan(write(ETL.replace("ETL}", "ETL, retention_days: 7}") + changed))
    assert code == 2
    assert "~ project etl  (all.yaml:1)" in said
    assert "    retention_days: 30 → 7\n" in said
    assert "Records that are older than 7 days go, a day after this is applied." in said
    assert "    for: 0 → 2 min\n" in said
    assert "    conditions[0].threshold: 80 % → 85 %\n" in said
    assert "0 to add, 2 to change, 0 to remove, 0 to let go of, 0 unchanged." in said


def test_what_somebody_changed_in_the_database_is_shown_and_set_back(
    installation: None, write: Write
) -> None:
    folder = write(ETL + RULE)
    apply(folder)
    Rule.objects.filter(name="Memory").update(severity="info", enabled=False)
    Project.objects.get(slug="etl").delete()
    code, said = plan(folder)
    assert code == 2
    assert "+ project etl" in said
    assert "+ rule Memory" in said, "it went with its project"
    apply(folder)
    Rule.objects.filter(name="Memory").update(severity="info", enabled=False)
    code, said = plan(folder)
    assert (code, "severity: info → warning" in said, "enabled: false → true" in said) == (2, True, True)
    apply(folder)
    assert plan(folder)[0] == 0
    assert Rule.objects.get(name="Memory").enabled


def test_a_changed_rule_is_evaluated_from_then_on_and_one_with_other_texts_goes_on(
    installation: None, write: Write
) -> None:
    apply(write(ETL + RULE))
    first = Rule.objects.get(name="Memory").changed
    apply(write(ETL + RULE.replace("projects", "advice: Buy more.\n    projects")))
    assert Rule.objects.get(name="Memory").changed == first
    apply(write(ETL + RULE.replace("80", "70")))
    assert Rule.objects.get(name="Memory").changed > first


def test_what_leaves_the_files_is_removed_but_for_what_people_made(installation: None, write: Write) -> None:
    alpha = Project.objects.create(name="Alpha", slug="alpha", retention_days=99)
    by_hand = Rule.objects.create(name="By hand")
    adopted = Target.objects.create(project=alpha, name="adopted", url="http://10.0.0.1:8787")
    targets = (
        "[{name: adopted, url: 'http://10.0.0.1:8787', series_limit: 5}, {name: new, url: 'http://10.0.0.2'}]"
    )
    of_alpha = f"projects: [{{slug: alpha, name: Alpha, retention_days: 99, targets: {targets}}}]"
    folder = write(alpha=of_alpha, etl=ETL + RULE)
    said = plan(folder)[1]
    assert "~ target alpha/adopted" in said
    assert "It was there before, and is provisioned from now on." in said
    apply(folder)
    said = plan(write("rules: []"))[1]
    assert "- rule Memory\n" in said
    assert "- project etl\n" in said
    assert "- target alpha/new\n" in said
    assert "= target alpha/adopted\n    It was there before it was in the files, so it stays." in said
    assert "= project alpha\n" in said
    assert "0 to add, 0 to change, 3 to remove, 2 to let go of" in said
    apply(write("rules: []"))
    assert set(Project.objects.filter(is_own=False)) == {alpha}
    assert list(Target.objects.all()) == [adopted]
    assert Rule.objects.filter(pk=by_hand.pk).exists()
    assert not Provisioned.objects.exists()
    assert plan(write("rules: []"))[0] == 0


def test_nothing_is_removed_without_being_asked_for(installation: None, write: Write) -> None:
    apply(write(ETL + RULE))
    with pytest.raises(CommandError, match="1 would be removed: look at the plan, then use --yes"):
        call_command("apply", str(write(ETL)))
    assert Rule.objects.filter(name="Memory").exists()


def test_a_project_with_recordings_stays_and_so_do_a_rule_with_alerts_and_its_cluster(
    installation: None, write: Write
) -> None:
    apply(write(ETL.replace("ETL}", "ETL, targets: [{name: a, url: 'http://10.0.0.1:8787'}]}") + RULE))
    etl = Project.objects.get(slug="etl")
    cluster = cluster_of(etl, Target.objects.get())
    make_alert(cluster, "Memory")
    said = apply(write("rules: []"))
    assert "= rule Memory\n    It stays. It is disabled, as it has raised 1 alerts." in said
    assert "- target etl/a" in said
    assert "= project etl\n    It stays. It has 1 recorded clusters." in said
    cluster.refresh_from_db()
    assert (cluster.project, cluster.target) == (etl, None)
    assert not Rule.objects.get(name="Memory").enabled
    said = apply(write(ETL + RULE))
    assert Rule.objects.get(name="Memory").enabled
    assert "0 to add, 2 to change, 0 to remove" in said


def test_the_number_of_statements_grows_slowly_with_what_there_is(installation: None, write: Write) -> None:
    """Rows are matched and read by kind, not item by item; checks of forms and saving remain."""

    def files(count: int) -> str:
        channels = "".join(
            f"  - {{name: c{number}, kind: webhook, rules: [Memory], "
            "address: {env: OBSERVATORY_VAR_ETL_WEBHOOK}}\n"
            for number in range(count)
        )
        return f"{named(*((f't{number}', number) for number in range(count)))}{RULE}channels:\n{channels}"

    counts = []
    for count in (10, 60):
        folder = write(files(count))
        with CaptureQueriesContext(connection) as new:
            plan(folder)
        apply(folder)
        with CaptureQueriesContext(connection) as known:
            assert plan(folder)[0] == 0
        counts.append((len(new), len(known)))
    (few_new, few_known), (many_new, many_known) = counts
    assert (many_new - few_new) / 50 < 22, "a new target and channel"
    assert (many_known - few_known) / 50 < 6, "those that there are"


def test_hosts_of_channels_are_looked_up_once(
    installation: None, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def look_up(host: str, *arguments: object, **options: object) -> list[object]:
        asked.append(host)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    lines = (
        f"  - {{name: c{number}, kind: webhook, address: {{env: OBSERVATORY_VAR_ETL_WEBHOOK}}}}\n"
        for number in range(5)
    )
    plan(write("channels:\n" + "".join(lines)))
    assert asked == ["alerts.example.org"]


def test_a_scheduler_that_is_down_does_not_keep_the_rest_out(installation: None, write: Write) -> None:
    apply(write(ETL.replace("ETL}", "ETL, targets: [{name: a, url: 'http://127.0.0.1:1'}]}")))
    assert Target.objects.get().url == "http://127.0.0.1:1"


def test_an_expired_silence_in_the_files_is_no_error(installation: None, write: Write) -> None:
    until = (now() + timedelta(hours=1)).isoformat()
    silence = f"comment: NAS, matchers: 'rule=\"x\"', starts: '2026-01-01T00:00', expires: '{until}'"
    text = f"silences: [{{{silence}}}]"
    apply(write(text))
    Silence.objects.update(expires=now() - timedelta(hours=1))
    apply(write(text.replace(until, Silence.objects.get().expires.isoformat())))
    old = write(text.replace(until, "2026-01-02T00:00"))
    Silence.objects.all().delete()
    code, said = plan(old)
    assert code == 0
    assert "is over, and isn't made." in said
    apply(old)
    assert not Silence.objects.exists()


def test_a_rule_stays_applied_when_the_last_cluster_with_its_metric_is_gone(
    installation: None, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    from observatory.wire import metrics

    rule = "rules: [{name: Mine, conditions: [{kind: metric, metric: my_metric, by: cluster, threshold: 5}]}]"
    assert "No cluster has reported a metric my_metric." in refusal(write(rule))[0]
    known = {**metrics.METRICS, "my_metric": metrics.METRICS["observatory_cluster_threads"]}
    with monkeypatch.context() as patch:
        patch.setattr("observatory.alerts.rules.known_metrics.METRICS", known)
        apply(write(rule))
    assert plan(write(rule))[0] == 0
    assert "No cluster has reported" in refusal(write(rule.replace("5", "6")))[0]


def test_two_applies_do_not_run_at_once(installation: None, write: Write) -> None:
    folder = write(ETL)
    with connect() as connection, try_lock(connection, 0, CONFIGURATION) as is_ours:
        assert is_ours
        with pytest.raises(CommandError, match="Another apply runs"):
            call_command("apply", str(folder))
    assert not Project.objects.filter(slug="etl").exists()
    apply(folder)


def test_folders_of_two_teams_do_not_remove_each_others(installation: None, write: Write) -> None:
    apply(write(ETL), "--source", "etl")
    ml = "projects: [{slug: ml, name: ML}]"
    apply(write(ml), "--source", "ml")
    assert Project.objects.filter(slug__in=["etl", "ml"]).count() == 2
    [line] = refusal(write(ETL), "--source", "ml")
    assert line == (
        "all.yaml:1: projects[0]: It is provisioned from all.yaml of the source etl. Remove it there first."
    )


def test_what_is_released_stays_and_belongs_to_people(installation: None, write: Write) -> None:
    apply(write(ETL + RULE))
    call_command("apply", release=True)
    assert Rule.objects.filter(name="Memory").exists()
    assert not Provisioned.objects.exists()


@pytest.mark.parametrize("content", [{}, {".hidden/a": ETL}])
def test_a_folder_without_files_removes_nothing(
    installation: None, write: Write, tmp_path: Path, content: dict[str, str]
) -> None:
    apply(write(ETL))
    empty = tmp_path / "empty"
    (empty / ".hidden").mkdir(parents=True)
    for name, text in content.items():
        (empty / f"{name}.yaml").write_text(text)
    with pytest.raises(CommandError, match=r"has no \.yaml or .yml file"):
        call_command("apply", str(empty), "--yes")
    with pytest.raises(CommandError, match="isn't a folder"):
        call_command("apply", str(tmp_path / "missing"), "--yes")
    assert Project.objects.filter(slug="etl").exists()


def test_files_that_are_links_are_read_once_as_in_a_mounted_config_map(
    installation: None, tmp_path: Path
) -> None:
    data = tmp_path / "mounted" / "..2026"
    data.mkdir(parents=True)
    (data / "etl.yaml").write_text(ETL)
    (tmp_path / "mounted" / "..data").symlink_to("..2026")
    (tmp_path / "mounted" / "etl.yaml").symlink_to("..data/etl.yaml")
    assert "1 to add" in apply(tmp_path / "mounted")
