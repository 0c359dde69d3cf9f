"""With Celery, Valkey and a receiver: an agent whose token is revoked is told of, and what it dropped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from django.db import connection

from observatory.alerts.models import Alert, Channel, Progress
from observatory.alerts.rules.ready_made import BY_KEY, make
from observatory.alerts.secrets import encrypt
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_refusals, ingest_tokens
from observatory.clusters.tokens.models import IngestToken
from observatory.collect.interruptions import LIMIT
from tests.alerts.evaluation.pipeline import pipeline
from tests.alerts.notifying.receivers import WEBHOOK, receiving
from tests.collect.agents import Agent, make_sample, project
from tests.runtime.machine import eventually

__all__ = ["project"]

LOOKS = 10.0
"""seconds between two looks for silent agents"""
STALL = 30.0
"""seconds that a loaded machine may add"""


class Sending:
    """An agent that sends a batch twice a second, and knows when one was accepted."""

    def __init__(self, secret: str) -> None:
        ingest_refusals._recorded.clear()
        self.agent = Agent(secret, since=time.time())
        self.accepted = 0.0
        self.dropped: list[tuple[float, float, str, int, str]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def _send(self) -> None:
        while not self._stopping.wait(0.5):
            now = time.time()
            sample = make_sample(self.agent, now - self.agent.since)
            dropped = list(self.dropped)
            if self.agent.send({"sample": [sample], "dropped": dropped}, committed=now) == 200:
                self.accepted = now
                del self.dropped[: len(dropped)]  # what was added while this was sent is in the next
        connection.close()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


@pytest.fixture
def sending(project: Project) -> Iterator[Sending]:
    sending = Sending(ingest_tokens.make(project, "nightly ETL", None)[1])
    yield sending
    sending.stop()


@pytest.mark.long
def test_a_refused_agent_and_dropped_records_are_told(sending: Sending, project: Project) -> None:
    make()
    with receiving(WEBHOOK) as webhook, pipeline() as processes:
        Channel.objects.create(name="hook", kind="webhook", secret=encrypt(webhook.url))
        processes.start()
        eventually(Progress.objects.exists, "the cluster is evaluated")
        lost = time.time()
        sending.dropped.append((lost, lost + 1, "span", 499, "spool-full"))
        eventually(lambda: told(webhook.bodies) == [("Records dropped", "firing")], "the drop is told")
        [drop] = Alert.objects.filter(rule__key="records-dropped")
        assert drop.fired is not None
        assert drop.fired.timestamp() == pytest.approx(lost, abs=1e-5)
        assert "499" in drop.message

        ingest_tokens.revoke(project, IngestToken.objects.get().pk)
        eventually(lambda: ("Agent silent", "firing") in told(webhook.bodies), "the silence is told", 300)
        [silent] = Alert.objects.filter(rule__key="agent-silent")
        assert silent.fired is not None
        # independent of the code: the agent knows when it was last accepted
        since = silent.pending.timestamp() - sending.accepted
        assert LIMIT - 1 <= since <= LIMIT + LOOKS + STALL
        hold = silent.fired.timestamp() - silent.pending.timestamp()
        assert hold == pytest.approx(BY_KEY["agent-silent"].hold)
        assert "with the token nightly ETL are refused: the token is revoked" in silent.message

        sending.agent.secret = ingest_tokens.make(project, "another", None)[1]
        resolved = ("Agent silent", "resolved")
        eventually(lambda: resolved in told(webhook.bodies), "that it is heard again is told", 300)
        assert told(webhook.bodies).count(resolved) == 1
        assert Cluster.objects.get(project__is_own=False).agent_silent is None
        assert Alert.objects.filter(rule__key="agent-silent").count() == 1


def told(bodies: list[dict[str, object]]) -> list[tuple[str, str]]:
    """(rule, status) of each alert in the webhook's bodies"""
    return [
        (alert["labels"]["alertname"], alert["status"])
        for body in bodies
        for alert in body["alerts"]  # type: ignore[attr-defined]
    ]
