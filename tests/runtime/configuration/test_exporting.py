"""`dask-observatory export`: what it writes makes another installation the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from observatory.alerts.models import Channel, MaintenanceWindow, Rule, RuleMade, Silence
from observatory.alerts.rules.condition_rows import rows_of, spec_of
from observatory.alerts.rules.quantities import QUANTITIES
from observatory.alerts.rules.ready_made import make
from observatory.alerts.secrets import decrypt, encrypt
from observatory.clusters.accounts.models import GroupRole
from observatory.clusters.models import Discovery, Project, Provisioned, Target
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.credentials.storage import seal, unseal
from observatory.exchange.models import Receiver
from observatory.exchange.receivers.receiver_kind import Address
from observatory.exchange.receivers.secrets import decrypt as decrypt_receiver
from observatory.exchange.receivers.secrets import encrypt as encrypt_receiver
from tests.runtime.configuration.conftest import EXAMPLE, apply, export, plan

ODD = "no: \"1\" 'x' <b>\U0001f600</b> # {a}"
SECRETS_OF_RECEIVERS = {
    "OBSERVATORY_VAR_RECEIVER_ERRORS_ADDRESS": "https://K3Y@sentry.example.org/1",
    "OBSERVATORY_VAR_RECEIVER_NO_1_X_B_B_A_ADDRESS": "https://otel.example.org",
    "OBSERVATORY_VAR_RECEIVER_NO_1_X_B_B_A_HEADERS": "X-Key: H34D\nX-Team: T34M",
}
LINES = "first\n\n  second: *x\nlast"


@pytest.fixture
def by_hand(installation: None) -> None:
    """What people made: odd texts, every quantity and kind of condition, and secrets."""
    etl = Project.objects.create(
        name=ODD, slug="etl", retention_days=400, thread_hour_price="0.012345", currency="€"
    )
    Project.objects.create(
        name="null", slug="1e3", quota_gib=0.5, ingest_rate=2.5, link_rate=9, run_idle_seconds=1
    )
    GroupRole.objects.create(group="true", project=etl, role="owner")
    GroupRole.objects.create(group=ODD, project=etl, role="viewer")
    secret = seal(Credentials(username="me", password="P4SSW0RD", headers="X-Key: H34DER"))
    prod = Target.objects.create(
        project=etl, name="prod / 1", url="https://h.example.org:1", secret=secret, metrics_interval=7.5
    )
    discovery = Discovery.objects.create(
        project=etl, name="sd", kind="http_sd", address="https://sd.example.org/x", enabled=False
    )
    found = Target.objects.create(project=etl, name="found", url="http://10.0.0.9:1", discovery=discovery)
    for place, quantity in enumerate(QUANTITIES.values()):
        rule = Rule.objects.create(
            name=f"{place} {ODD}", advice=LINES, hold_seconds=quantity.hold, created_by=None
        )
        for row in rows_of([quantity.condition]):
            row.rule = rule
            row.threshold *= 0.5
            row.clear_threshold = row.clear_threshold and row.clear_threshold * 0.5
            row.save()
        rule.projects.set([etl] if place % 2 else [])
    limited = Rule.objects.get(name=f"1 {ODD}")
    limited.targets.set([prod])
    Rule.objects.get(name=f"3 {ODD}").targets.set([found])
    renamed = Rule.objects.get(key="worker-lost")
    renamed.name, renamed.description, renamed.enabled = "Gone", "", False
    renamed.save()
    Rule.objects.filter(key="transfers").delete()
    for name, address in (("Hook", "https://h.example.org/0NE"), ("Hook!", "https://h.example.org/TW0")):
        channel = Channel.objects.create(name=name, kind="webhook", secret=encrypt(address))
        channel.rules.set([limited])
    receiver = Receiver.objects.create(
        name=ODD,
        kind="otlp",
        secret=encrypt_receiver(Address("https://otel.example.org", {"X-Key": "H34D", "X-Team": "T34M"})),
        run_names="nightly-*\n*etl*",
        most_tasks=500,
        sends_logs=False,
    )
    receiver.projects.set([etl])
    sentry = Address("https://K3Y@sentry.example.org/1", {})
    Receiver.objects.create(name="Errors", kind="sentry", secret=encrypt_receiver(sentry), enabled=False)
    silence = Silence.objects.create(
        matchers='rule="a"',
        comment=LINES,
        starts=now() - timedelta(hours=1),
        expires=now() + timedelta(days=9),
    )
    silence.projects.set([etl])
    Silence.objects.create(matchers='rule="b"', comment="over", expires=now() - timedelta(days=1))
    window = MaintenanceWindow.objects.create(
        name="w",
        starts=datetime(2026, 5, 1, tzinfo=UTC),
        stops=datetime(2026, 5, 1, 1, tzinfo=UTC),
        repeat="daily",
    )
    window.targets.set([prod])


def empty_installation() -> None:
    for model in (
        Silence,
        MaintenanceWindow,
        Channel,
        Receiver,
        Rule,
        RuleMade,
        Target,
        Discovery,
        Project,
        Provisioned,
    ):
        model.objects.all().delete()
    make()


def specs() -> dict[str, object]:
    return {rule.name: spec_of(rule, list(rule.conditions.all())) for rule in Rule.objects.all()}


def test_an_export_applied_to_an_empty_installation_and_exported_again_is_the_same(
    by_hand: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, said = export(tmp_path / "first")
    assert f"Left out: rule 3 {ODD}. It is limited to etl/found, a target that a discovery found." in said
    before = specs()
    del before[f"3 {ODD}"]
    for secret in ("P4SSW0RD", "H34DER", "0NE", "TW0", "H34D", "T34M", "K3Y"):
        assert secret not in "".join(first.values())
    wanted = {
        "OBSERVATORY_VAR_TARGET_ETL_PROD_1_USERNAME": "me",
        "OBSERVATORY_VAR_TARGET_ETL_PROD_1_PASSWORD": "P4SSW0RD",
        "OBSERVATORY_VAR_TARGET_ETL_PROD_1_HEADERS": "X-Key: H34DER",
        "OBSERVATORY_VAR_CHANNEL_HOOK_ADDRESS": "https://h.example.org/0NE",
        "OBSERVATORY_VAR_CHANNEL_HOOK_ADDRESS_2": "https://h.example.org/TW0",
        **SECRETS_OF_RECEIVERS,
    }
    assert set(re.findall(r"OBSERVATORY_VAR_\w+", said)) == set(wanted)
    for name, text in wanted.items():
        monkeypatch.setenv(name, text)
    empty_installation()
    apply(tmp_path / "first")
    assert plan(tmp_path / "first")[0] == 0
    second, said = export(tmp_path / "second")
    assert second == first
    assert "OBSERVATORY_VAR" not in said, "the files have said where all secrets are from"
    assert specs() == before
    assert Project.objects.get(slug="etl").name == ODD
    assert unseal(Target.objects.get(name="prod / 1").secret).headers == "X-Key: H34DER"
    assert decrypt(Channel.objects.get(name="Hook!").secret) == "https://h.example.org/TW0"
    odd = Receiver.objects.get(name=ODD)
    assert decrypt_receiver(odd.secret).headers == {"X-Key": "H34D", "X-Team": "T34M"}
    assert (odd.run_names, odd.most_tasks, odd.sends_logs) == ("nightly-*\n*etl*", 500, False)
    assert not Receiver.objects.get(name="Errors").enabled
    assert Silence.objects.get().comment == LINES
    gone = Rule.objects.get(key="worker-lost")
    assert (gone.name, gone.description, gone.enabled) == ("Gone", "", False)
    assert not Rule.objects.filter(key="transfers").exists()


def test_an_export_applied_where_it_was_made_changes_nothing_but_whose_things_are(
    by_hand: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, said = export(tmp_path / "first")
    for name in re.findall(r"OBSERVATORY_VAR_\w+", said):
        ending = name.rpartition("ADDRESS")[2]
        text = "https://h.example.org/" + ("TW0" if ending == "_2" else "0NE")
        known = {"E": "me", "D": "P4SSW0RD", "S": "X-Key: H34DER", **SECRETS_OF_RECEIVERS}
        monkeypatch.setenv(name, known.get(name) or known.get(name[-1], text))
    monkeypatch.setenv("OBSERVATORY_VAR_CHANNEL_HOOK_ADDRESS", "https://h.example.org/0NE")
    before = specs()
    said = apply(tmp_path / "first")
    assert specs() == before
    assert " 0 to add," in f" {said.splitlines()[-2]}"
    assert "→" not in re.sub(r".*(a secret|nothing) → \{env.*\n", "", said)
    assert export(tmp_path / "second")[0] == first


def test_the_example_is_exported_as_it_says(installation: None, tmp_path: Path) -> None:
    apply(EXAMPLE)
    files, _ = export(tmp_path / "out")
    [project] = yaml.safe_load(files["projects/etl.yaml"])["projects"]
    [written] = yaml.safe_load((EXAMPLE / "projects/etl.yaml").read_text())["projects"]
    assert {**project, "targets": project["targets"][::-1]} == written
    for name in ("channels.yaml", "receivers.yaml"):
        assert yaml.safe_load(files[name]) == yaml.safe_load((EXAMPLE / name).read_text())
    for name in ("ready_made: slower-run\n", "ready_made: worker-memory\n", "- idle-cluster\n"):
        assert name in files["rules.yaml"], "what is as it was made is a line"


def test_an_export_overwrites_nothing(installation: None, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CommandError, match="isn't an empty folder"):
        call_command("export", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
