from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from django.utils.timezone import now

from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers.delivery import deliver_to, due_receivers
from observatory.exchange.receivers.receiver_kind import Address
from observatory.exchange.receivers.secrets import encrypt
from observatory.runs.models import Run
from tests.exchange.receivers.http_receiver import HttpReceiver, receiving

Deliver = Callable[[Run], RunDelivery]


@pytest.fixture
def endpoint() -> Iterator[HttpReceiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def receiver(transactional_db: None, endpoint: HttpReceiver) -> Receiver:
    """Of OpenTelemetry, for all projects."""
    secret = encrypt(Address(endpoint.url, {"Authorization": "Bearer s3cr3t-t0k3n"}))
    return Receiver.objects.create(name="collector", kind="otlp", secret=secret)


@pytest.fixture
def sentry(transactional_db: None, endpoint: HttpReceiver) -> Receiver:
    dsn = endpoint.url.replace("http://", "http://publickey@") + "/sub/7"
    return Receiver.objects.create(name="errors", kind="sentry", secret=encrypt(Address(dsn)))


def end_now(run: Run, at: datetime | None = None) -> Run:
    """The run has ended just now, as far as receivers are concerned: those of the past get nothing."""
    run.origin = Run.Origin.CODE
    run.counted = (at or now()) + timedelta(minutes=1)
    run.save()
    Receiver.objects.update(created=run.start)
    return run


@pytest.fixture
def deliver() -> Deliver:
    """Sends a run to the receivers that want it, a minute after its end; returns the last delivery."""

    def deliver(run: Run) -> RunDelivery:
        assert run.stop is not None
        end_now(run, run.stop)
        at = run.stop + timedelta(minutes=1)
        for receiver in due_receivers(at):
            deliver_to(receiver, at)
        return RunDelivery.objects.filter(run=run).latest("pk")

    return deliver


@pytest.fixture
def ended(run: Run) -> Run:
    return end_now(run, run.stop)


@pytest.fixture
def due_at(receiver: Receiver, ended: Run) -> datetime:
    """When the run is due at the receiver."""
    assert ended.stop is not None
    at = ended.stop + timedelta(minutes=1)
    assert due_receivers(at) == [receiver.pk]
    return at
