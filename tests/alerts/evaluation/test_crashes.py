"""Whatever is killed while an alert fires: no notification is lost, and none is repeated."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest

from observatory.alerts.models import Alert, Channel, Delivery, Progress, Rule
from observatory.alerts.secrets import encrypt
from observatory.clusters.models import Cluster, Project
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Sample, Series
from tests.alerts.evaluation.conftest import make_rule
from tests.alerts.evaluation.pipeline import Pipeline, pipeline
from tests.alerts.notifying.receivers import WEBHOOK, Receiver, receiving
from tests.runtime.machine import eventually

WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
      AND query LIKE 'INSERT INTO "alerts_delivery"%'"""


class Agent:
    """Tells the `load` of a cluster, twice a second, from now on."""

    def __init__(self) -> None:
        now = datetime.now(UTC)
        project = Project.objects.create(name="Team", slug="team")
        self.cluster = Cluster.objects.create(
            project=project, scheduler_id="Scheduler-1", name="etl", started=now, last_seen=now
        )
        self.load = 1.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._tell)
        self._thread.start()

    def _tell(self) -> None:
        with Writer() as writer, connect() as connection:
            while not self._stopping.wait(0.5):
                now = time.time()
                sample = Sample(Series("load"), now, self.load)
                writer.write(Batch.of(self.cluster.pk, samples=[sample], committed=now))
                heard = "UPDATE clusters_cluster SET agent_heard = now() WHERE id = %s"
                connection.execute(heard, [self.cluster.pk])

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        delete_cluster(self.cluster.pk)


@pytest.fixture
def agent(transactional_db: None) -> Iterator[Agent]:
    Rule.objects.all().delete()
    agent = Agent()
    yield agent
    agent.stop()


@pytest.fixture
def webhook() -> Iterator[Receiver]:
    with receiving(WEBHOOK) as receiver:
        yield receiver


def test_killing_evaluator_and_valkey_loses_and_repeats_no_notification(
    agent: Agent, webhook: Receiver
) -> None:
    make_rule()
    Channel.objects.create(name="hook", kind="webhook", secret=encrypt(webhook.url), minimum_severity="info")
    with pipeline() as processes:
        processes.start()
        eventually(Progress.objects.exists, "the cluster is evaluated")

        with connect() as holding, connect() as looking:
            kill_in_the_middle_of_firing(agent, processes, holding, looking)
        assert not Alert.objects.exists()
        assert webhook.bodies == []

        processes.start_worker()
        eventually(lambda: statuses(webhook) == ["firing"], "it is told that it fires")
        # one that died in between would send it again, as the same message
        eventually(Delivery.objects.filter(state="sent").exists, "that it was told is noted")

        processes.kill("worker")
        processes.kill("valkey")
        agent.load = 1.0
        processes.start_valkey()
        processes.start_worker()
        if not processes.lives("beat"):
            processes.start_beat()
        eventually(lambda: statuses(webhook) == ["firing", "resolved"], "it is told that it ended")
        before = Progress.objects.get(cluster__project__is_own=False).until
        eventually(
            lambda: Progress.objects.get(cluster__project__is_own=False).until > before, "rounds go on"
        )
    assert statuses(webhook) == ["firing", "resolved"]
    assert Alert.objects.count() == 1


def kill_in_the_middle_of_firing(
    agent: Agent, processes: Pipeline, holding: psycopg.Connection, looking: psycopg.Connection
) -> None:
    """The evaluator has made the alert, but not yet who is to be told, and has committed nothing."""
    with holding.transaction():
        holding.execute("LOCK TABLE alerts_delivery IN EXCLUSIVE MODE")
        agent.load = 20.0
        eventually(lambda: looking.execute(WAITING).fetchone() != (0,), "the evaluator tells that it fires")
        processes.kill("worker")
    eventually(lambda: looking.execute(WAITING).fetchone() == (0,), "the transaction is over")


def statuses(webhook: Receiver) -> list[str]:
    return [body["status"] for body in webhook.bodies]
