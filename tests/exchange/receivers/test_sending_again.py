"""What a receiver that is away, behind or in trouble gets later, and when."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from observatory.alerts.notifying.delivery import FIRST_PAUSE, MAX_ATTEMPTS
from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers.delivery import deliver_to, due_receivers
from observatory.exchange.receivers.health import failing_receivers, sent_run_counts
from observatory.exchange.receivers.otlp.posting import PAUSES
from observatory.exchange.receivers.receiver_kind import Address
from observatory.exchange.receivers.secrets import encrypt
from observatory.runs.models import Run
from observatory.store.queries.windows.tasks import sampled_tasks
from tests.exchange.receivers.conftest import Deliver, end_now
from tests.exchange.receivers.http_receiver import Answer, HttpReceiver, values
from tests.exchange.receivers.test_traces import run_of
from tests.why.findings.simulated import Simulated, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = timedelta(minutes=1)


def test_a_receiver_that_is_away_gets_the_run_later(
    receiver: Receiver, endpoint: HttpReceiver, ended: Run
) -> None:
    assert ended.stop is not None
    at = ended.stop + MINUTE
    secret, away = receiver.secret, Address("http://127.0.0.1:1/secret-path")
    Receiver.objects.update(secret=encrypt(away))
    due_receivers(at)
    deliver_to(receiver.pk, at)
    waiting = RunDelivery.objects.get()
    assert (waiting.state, waiting.attempts) == ("due", 1)
    assert waiting.last_error == "It can't be reached: Connection refused."
    assert at + FIRST_PAUSE / 2 < waiting.due < at + FIRST_PAUSE * 2
    assert due_receivers(at) == []
    assert failing_receivers() == []

    deliver_to(receiver.pk, waiting.due)
    again = RunDelivery.objects.get()
    assert again.due - waiting.due > FIRST_PAUSE
    assert [(one.pk, error) for one, error in failing_receivers()] == [(receiver.pk, waiting.last_error)]
    Receiver.objects.update(secret=secret)
    assert due_receivers(again.due) == [receiver.pk]
    deliver_to(receiver.pk, again.due)
    sent = RunDelivery.objects.get()
    assert (sent.state, sent.attempts, sent.last_error) == ("sent", 3, "")
    assert failing_receivers() == []
    assert sent_run_counts() == {"due": 0, "sent": 1, "failed": 0, "unneeded": 0}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_a_receiver_cannot_take_now_is_sent_again(
    status: int, receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    endpoint.answers = [Answer(), Answer(status, {"Retry-After": "120"})]
    delivery = deliver(run)
    assert run.stop is not None
    assert (delivery.state, delivery.attempts) == ("due", 1)
    assert delivery.due == run.stop + MINUTE + timedelta(seconds=120)


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each pause, which is left out."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_that_is_behind_gets_the_same_request_again_and_not_the_whole_run(
    status: int,
    receiver: Receiver,
    endpoint: HttpReceiver,
    deliver: Deliver,
    run: Run,
    paused: list[float],
) -> None:
    """Phoenix 20 answers 503 while 20,000 spans wait, so a larger run never came to its end."""
    endpoint.answers = [Answer(), Answer(status), Answer(status, {"Retry-After": "7"})]
    delivery = deliver(run)
    assert (delivery.state, delivery.attempts) == ("sent", 1)
    assert paused == [PAUSES[0], 7.0]
    ids = [span.span_id for _, span in endpoint.spans]
    assert len(ids) == len(set(ids)), "nothing that it had was sent again"


def test_patience_with_a_receiver_that_stays_behind_is_bounded(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run, paused: list[float]
) -> None:
    endpoint.answers = [Answer(), *(Answer(503) for _ in range(50))]
    assert deliver(run).state == "due"
    assert paused == list(PAUSES)


@pytest.mark.parametrize("failures", [3, 2 * MAX_ATTEMPTS])
def test_a_later_attempt_goes_on_where_the_last_one_ended(
    failures: int,
    receiver: Receiver,
    endpoint: HttpReceiver,
    paused: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As long as each gets further, however many there are."""
    monkeypatch.setattr(sampled_tasks, "ROWS_AT_ONCE", 1)
    ended = run_of(Simulated(map_reduce(50, 1.0)))
    assert ended.stop is not None
    end_now(ended, ended.stop)
    at = ended.stop + MINUTE
    due_receivers(at)
    for _ in range(failures):
        endpoint.answers = [Answer(), Answer(500)]
        deliver_to(receiver.pk, at)
        waiting = RunDelivery.objects.get()
        assert (waiting.state, waiting.attempts) == ("due", 1)
        at = waiting.due
    sent_before = len(endpoint.spans)
    endpoint.answers = []
    deliver_to(receiver.pk, at)
    delivery = RunDelivery.objects.get()
    assert (delivery.state, delivery.accepted) == ("sent", {})
    ids = [span.span_id for _, span in endpoint.spans]
    assert (sent_before, len(ids)) == (failures, len(set(ids))), "nothing was sent twice"
    assert f"with {len(ids) - 1:,} spans" in delivery.report


def test_a_run_that_changed_between_two_attempts_is_sent_whole(
    receiver: Receiver, endpoint: HttpReceiver, due_at: datetime, paused: list[float]
) -> None:
    endpoint.answers = [Answer(), Answer(), Answer(500)]
    deliver_to(receiver.pk, due_at)
    waiting = RunDelivery.objects.get()
    endpoint.messages.clear()
    Run.objects.update(tags={"team": "blue"})
    deliver_to(receiver.pk, waiting.due)
    assert RunDelivery.objects.get().state == "sent"
    (root,) = [span for _, span in endpoint.spans if not span.parent_span_id]
    assert values(root.attributes)["dask.run.tag.team"] == "blue"
    assert f"with {len(endpoint.spans) - 1:,} spans" in RunDelivery.objects.get().report


def test_a_run_of_which_less_is_left_is_sent_whole(
    receiver: Receiver, endpoint: HttpReceiver, due_at: datetime, paused: list[float]
) -> None:
    RunDelivery.objects.update(accepted={"traces": [10_000, "of more requests"]})
    deliver_to(receiver.pk, due_at)
    assert RunDelivery.objects.get().state == "sent"
    assert f"with {len(endpoint.spans) - 1:,} spans" in RunDelivery.objects.get().report


def test_a_pause_until_a_date_is_by_the_clock_of_the_receiver(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    dates = {"Date": "Fri, 31 Dec 2027 23:58:00 GMT", "Retry-After": "Sat, 01 Jan 2028 00:01:00 GMT"}
    endpoint.answers = [Answer(503, dates)]
    delivery = deliver(run)
    assert run.stop is not None
    assert delivery.due == run.stop + MINUTE + timedelta(minutes=3)


@pytest.mark.parametrize("header", ["Fri, 31 Dec 2027 23:59:59 GMT", "-5", "1e9", "9" * 400, "٣"])
def test_a_pause_that_a_receiver_asks_for_is_bounded(
    header: str, receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    endpoint.answers = [Answer(503, {"Retry-After": header.encode().decode("latin-1")})]
    delivery = deliver(run)
    assert run.stop is not None
    assert delivery.state == "due"
    assert delivery.due <= run.stop + MINUTE + timedelta(hours=1)


def test_a_receiver_that_never_answers_well_is_given_up(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    endpoint.answers = [Answer(503) for _ in range(MAX_ATTEMPTS)]
    delivery = deliver(run)
    while delivery.state == "due":
        deliver_to(receiver.pk, delivery.due)
        delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("failed", MAX_ATTEMPTS)
