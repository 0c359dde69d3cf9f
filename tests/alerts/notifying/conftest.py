from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from observatory.alerts.models import Alert, Channel, Rule
from observatory.alerts.notifying.message import Change
from observatory.alerts.notifying.routing import enqueue
from observatory.alerts.secrets import encrypt
from tests.alerts.notifying.receivers import POSTABLE_ALERTS, WEBHOOK, Receiver, receiving
from tests.support.projects import World, world

__all__ = ["world"]

Fire = Callable[..., Alert]
Resolve = Callable[..., None]


@pytest.fixture
def rule(db: None) -> Rule:
    return Rule.objects.create(
        name="Worker lost",
        severity="critical",
        description="A worker went away with tasks on it.",
        advice="Look at its last words.",
    )


@pytest.fixture
def fire(world: World, rule: Rule) -> Fire:
    """Makes an alert that began to fire two minutes after its cluster started, and has it told."""
    numbers = count(1)

    def fire(**fields: Any) -> Alert:
        number = next(numbers)
        cluster = fields.get("cluster", world.live)
        known: dict[str, Any] = {
            "rule": rule,
            "cluster": cluster,
            "severity": fields.get("rule", rule).severity,
            "labels": {"worker": f"w{number}"},
            "fingerprint": f"{number:032x}",
            "state": Alert.State.FIRING,
            "pending": cluster.started + timedelta(seconds=90),
            "fired": cluster.started + timedelta(seconds=120),
            "message": f"w{number} was lost",
        }
        alert = Alert.objects.create(**(known | fields))
        enqueue([(alert, Change.FIRING)])
        return alert

    return fire


@pytest.fixture
def resolve() -> Callable[..., None]:
    """Resolves an alert a minute after it fired, and has it told."""

    def resolve(alert: Alert, at: datetime | None = None) -> None:
        assert alert.fired is not None
        alert.state = Alert.State.RESOLVED
        alert.resolved = at or alert.fired + timedelta(minutes=1)
        alert.save()
        enqueue([(alert, Change.RESOLVED)])

    return resolve


def make_channel(name: str = "channel", address: str = "", **fields: Any) -> Channel:
    known = {"minimum_severity": "info", "secret": encrypt(address), **fields}
    return Channel.objects.create(name=name, **known)


@pytest.fixture
def webhook() -> Iterator[Receiver]:
    with receiving(WEBHOOK) as receiver:
        yield receiver


@pytest.fixture
def alertmanager() -> Iterator[Receiver]:
    with receiving(POSTABLE_ALERTS) as receiver:
        yield receiver
