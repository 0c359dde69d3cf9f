"""Secrets of the files: references, credentials, headers of receivers."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils.timezone import now

from observatory.alerts.models import Channel
from observatory.alerts.secrets import decrypt
from observatory.clusters.models import Project, Target
from observatory.collect.credentials.storage import unseal
from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers.receiver_kind import Address
from observatory.exchange.receivers.secrets import decrypt as decrypt_receiver
from observatory.runs.models import Run
from tests.runtime.configuration.conftest import EXAMPLE, Write, apply, plan, refusal
from tests.runtime.configuration.installed import cluster_of


def test_another_secret_behind_a_reference_is_a_change_and_is_not_shown(
    installation: None, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(EXAMPLE)
    monkeypatch.setenv("OBSERVATORY_VAR_ETL_WEBHOOK", "https://alerts.example.org/0TH3R")
    monkeypatch.setenv("OBSERVATORY_VAR_INTERACTIVE_TOKEN", "N3W")
    code, said = plan(EXAMPLE)
    assert code == 2
    assert (
        "address: {env: OBSERVATORY_VAR_ETL_WEBHOOK} → {env: OBSERVATORY_VAR_ETL_WEBHOOK} (another secret)"
        in said
    )
    assert "token: {env: OBSERVATORY_VAR_INTERACTIVE_TOKEN} → " in said
    for secret in ("T0K3N", "0TH3R", "S3CR3T", "N3W"):
        assert secret not in said
    apply(EXAMPLE)
    assert decrypt(Channel.objects.get().secret) == "https://alerts.example.org/0TH3R"
    assert unseal(Target.objects.get(name="interactive").secret).token == "N3W"
    assert plan(EXAMPLE)[0] == 0


def test_credentials_that_leave_the_files_are_removed(installation: None, write: Write) -> None:
    given = "credentials: {token: {env: OBSERVATORY_VAR_INTERACTIVE_TOKEN}}"
    text = "projects: [{slug: etl, name: ETL, targets: [{name: a, url: 'https://a.example.org', %s}]}]"
    apply(write(text % given))
    assert Target.objects.get().secret
    said = apply(write(text.replace(", %s", "")))
    assert "token: {env: OBSERVATORY_VAR_INTERACTIVE_TOKEN} → nothing" in said
    assert Target.objects.get().secret == ""


def test_headers_of_a_receiver_that_leave_the_files_are_removed(
    installation: None, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "address: {env: OBSERVATORY_VAR_COLLECTOR}"
    headers = ", headers: {env: OBSERVATORY_VAR_COLLECTOR_HEADERS}"
    text = f"receivers: [{{name: Traces, kind: otlp, {address}%s}}]"
    apply(write(text % headers))
    assert receiver_address().headers == {"Authorization": "Bearer H34D", "X-Team": "etl"}
    monkeypatch.setenv("OBSERVATORY_VAR_COLLECTOR_HEADERS", "X-Team: bi")
    said = apply(write(text % headers))
    assert "headers: {env: OBSERVATORY_VAR_COLLECTOR_HEADERS} → " in said
    assert receiver_address().headers == {"X-Team": "bi"}
    said = apply(write(text % ""))
    assert "headers: {env: OBSERVATORY_VAR_COLLECTOR_HEADERS} → nothing" in said
    assert receiver_address() == Address("https://collector.example.org/4DDR3SS", {})
    assert plan(write(text % ""))[0] == 0


def test_a_receiver_that_sent_runs_is_disabled_when_it_leaves_the_files(
    installation: None, write: Write
) -> None:
    apply(write("receivers: [{name: Traces, kind: otlp, address: {env: OBSERVATORY_VAR_COLLECTOR}}]"))
    cluster = cluster_of(Project.objects.create(name="ETL", slug="etl"))
    run = Run.objects.create(cluster=cluster, name="nightly", start=now())
    RunDelivery.objects.create(receiver=Receiver.objects.get(), run=run)
    said = apply(write("rules: []"))
    assert "It is disabled, as 1 sent runs are its record. The admin deletes it." in said
    assert not Receiver.objects.get().enabled


def receiver_address() -> Address:
    return decrypt_receiver(Receiver.objects.get().secret)


def test_secrets_are_read_from_files_of_their_folder(
    installation: None, write: Write, tmp_path: Path
) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "hook").write_text("https://alerts.example.org/FR0M-F1LE\n")
    folder = write("channels: [{name: Hook, kind: webhook, address: {file: hook}}]")
    assert "Say with --secrets FOLDER where files with secrets are." in refusal(folder)[0]
    apply(folder, "--secrets", str(secrets))
    assert decrypt(Channel.objects.get().secret) == "https://alerts.example.org/FR0M-F1LE"
