"""Which runs are sent to a receiver, and what becomes of those that it doesn't take."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from observatory.alerts.notifying.delivery import FIRST_PAUSE, MAX_ATTEMPTS
from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers import delivery as module
from observatory.exchange.receivers.delivery import deliver_to, due_receivers
from observatory.exchange.receivers.health import failing_receivers, sent_run_counts
from observatory.exchange.receivers.otlp.posting import PAUSES
from observatory.exchange.receivers.receiver_kind import Address, NotYet
from observatory.exchange.receivers.secrets import encrypt
from observatory.exchange.tasks import send_runs, send_runs_to
from observatory.runs.models import Run
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import RECEIVERS, try_lock
from observatory.store.queries.windows import sampled_tasks
from tests.exchange.receivers.conftest import Deliver, end_now
from tests.exchange.receivers.http_receiver import Answer, HttpReceiver, values
from tests.exchange.receivers.test_traces import run_of
from tests.support.projects import World
from tests.why.findings.simulated import Simulated, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def ended(run: Run) -> Run:
    return end_now(run, run.stop)


@pytest.fixture
def due_at(receiver: Receiver, ended: Run) -> datetime:
    """When the run is due at the receiver."""
    assert ended.stop is not None
    at = ended.stop + MINUTE
    assert due_receivers(at) == [receiver.pk]
    return at


def test_a_run_is_sent_once_and_with_the_headers_of_the_receiver(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    first = deliver(run)
    assert (first.state, first.attempts) == ("sent", 1)
    paths = [path for path, _ in endpoint.requests]
    assert set(paths) == {"/v1/traces", "/v1/logs", "/v1/metrics"}
    assert {headers["Authorization"] for _, headers in endpoint.requests} == {"Bearer s3cr3t-t0k3n"}
    deliver(run)
    assert [path for path, _ in endpoint.requests] == paths
    assert RunDelivery.objects.count() == 1


def test_only_what_the_receiver_wants_is_sent(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    Receiver.objects.update(sends_logs=False, sends_metrics=False)
    deliver(run)
    assert {path for path, _ in endpoint.requests} == {"/v1/traces"}


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "cut"},
        {"origin": "imported"},
        {"stop": None, "outcome": "running"},
        {"counted": None},
    ],
    ids=["cut by hand", "imported", "open", "not counted"],
)
def test_runs_that_did_not_just_end_are_not_sent(
    change: dict[str, Any], receiver: Receiver, ended: Run
) -> None:
    assert ended.stop is not None
    Run.objects.filter(pk=ended.pk).update(**change)
    assert due_receivers(ended.stop + MINUTE) == []
    assert not RunDelivery.objects.exists()


def test_a_run_that_ended_before_the_receiver_was_made_or_while_it_was_off_is_not_sent(
    receiver: Receiver, ended: Run
) -> None:
    assert ended.stop is not None
    Receiver.objects.update(created=ended.stop + timedelta(seconds=1))
    assert due_receivers(ended.stop + MINUTE) == []
    Receiver.objects.update(created=ended.start)
    assert due_receivers(ended.stop + timedelta(days=2)) == []
    assert due_receivers(ended.stop + MINUTE) == [receiver.pk]


def test_projects_and_names_choose_the_runs(receiver: Receiver, ended: Run, world: World) -> None:
    assert ended.stop is not None
    receiver.projects.set([world.beta])
    assert due_receivers(ended.stop + MINUTE) == []
    receiver.projects.set([world.beta, world.alpha])
    Receiver.objects.update(run_names="weekly*\n  [n]ight\n")
    assert due_receivers(ended.stop + MINUTE) == []
    Receiver.objects.update(run_names="weekly*\n night*  \n")
    assert due_receivers(ended.stop + MINUTE) == [receiver.pk]


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


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "It answered 400 Bad Request to traces."),
        (401, "It answered 401 Unauthorized to traces."),
        (404, "It answered 404 Not Found to traces."),
        (413, "It answered 413 Request Entity Too Large to traces."),
    ],
)
def test_what_a_receiver_refuses_is_not_sent_again_by_itself(
    status: int, text: str, receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    endpoint.answers = [Answer(status, body=b"the-secret-of-another")]
    delivery = deliver(run)
    assert (delivery.state, delivery.attempts, delivery.last_error) == ("failed", 1, text)
    assert len(endpoint.requests) == 1
    deliver(run)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_a_receiver_cannot_take_now_is_sent_again(
    status: int, receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    endpoint.answers = [Answer(), Answer(status, {"Retry-After": "120"})]
    delivery = deliver(run)
    assert run.stop is not None
    assert (delivery.state, delivery.attempts) == ("due", 1)
    assert delivery.due == run.stop + MINUTE + timedelta(seconds=120)


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_receiver_that_takes_traces_only_has_got_the_run_with_its_trace(
    status: int, receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    """Phoenix 20 answers 405 to logs and metrics, a collector without a pipeline for them 404."""
    endpoint.statuses = {"/v1/logs": status, "/v1/metrics": status}
    delivery = deliver(run)
    assert delivery.state == "sent"
    assert f"It takes no logs: it answered {status}. It takes no metrics: it answered {status}." in (
        delivery.report
    )
    assert [path for path, _ in endpoint.requests].count("/v1/logs") == 1


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


def test_a_refusal_says_what_was_refused(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    endpoint.statuses = {"/v1/metrics": 400}
    delivery = deliver(run)
    assert (delivery.state, delivery.last_error) == ("failed", "It answered 400 Bad Request to metrics.")


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


def test_what_a_receiver_rejects_in_part_is_told_and_not_sent_again(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    said = f"too old: {endpoint.url} s3cr3t-t0k3n"
    partial = ExportTracePartialSuccess(rejected_spans=3, error_message=said)
    body = ExportTraceServiceResponse(partial_success=partial).SerializeToString()
    endpoint.answers = [Answer(), Answer(body=body)]
    delivery = deliver(run)
    assert delivery.state == "sent"
    assert "It rejected 3 of traces. It said: too old: " in delivery.report
    assert "s3cr3t-t0k3n" not in delivery.report


@pytest.mark.parametrize(
    "body", [b"", b"OK", b"{}", b"\xff" * 200_000], ids=["nothing", "text", "JSON", "noise"]
)
def test_any_answer_of_success_is_an_acceptance(
    body: bytes, receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    endpoint.answers = [Answer(body=body) for _ in range(3)]
    assert deliver(run).state == "sent"


def test_redirects_are_not_followed_and_this_machine_is_only_reached_where_a_setting_says_so(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run, settings: LazySettings
) -> None:
    endpoint.answers = [Answer(302, {"Location": "http://169.254.169.254/"})]
    assert deliver(run).last_error.startswith("It answered 302, a redirect.")
    RunDelivery.objects.all().delete()
    settings.LOCAL_CHANNELS = False
    assert deliver(run).last_error.startswith("Its host is this machine")
    assert len(endpoint.requests) == 1


def test_a_run_waits_for_what_is_still_being_made_without_counting_as_an_attempt(
    receiver: Receiver, due_at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(*_: Any) -> str:
        raise NotYet

    monkeypatch.setattr(module, "_send", wait)
    deliver_to(receiver.pk, due_at)
    waiting = RunDelivery.objects.get()
    assert (waiting.state, waiting.attempts, waiting.due) == ("due", 0, due_at + MINUTE)


def test_an_error_of_ours_is_tried_again_and_shows_nothing_of_it(
    receiver: Receiver, due_at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise RuntimeError("s3cr3t")

    monkeypatch.setattr(module, "_send", fail)
    deliver_to(receiver.pk, due_at)
    waiting = RunDelivery.objects.get()
    assert (waiting.state, waiting.attempts) == ("due", 1)
    assert waiting.last_error == "Unexpected error; the worker's log has the details."


def test_one_process_at_a_time_sends_to_a_receiver(
    receiver: Receiver, endpoint: HttpReceiver, due_at: datetime
) -> None:
    with connect() as connection, try_lock(connection, receiver.pk, RECEIVERS):
        deliver_to(receiver.pk, due_at)
    assert endpoint.requests == []
    deliver_to(receiver.pk, due_at)
    assert endpoint.requests


def test_what_waits_for_a_receiver_that_is_switched_off_is_no_longer_needed(
    receiver: Receiver, endpoint: HttpReceiver, ended: Run
) -> None:
    assert ended.stop is not None
    due_receivers(ended.stop + MINUTE)
    Receiver.objects.update(enabled=False)
    assert due_receivers(ended.stop + MINUTE) == []
    deliver_to(receiver.pk, ended.stop + MINUTE)
    assert RunDelivery.objects.get().state == "unneeded"
    assert endpoint.requests == []


def test_celery_sends_to_each_receiver_in_a_task_of_its_own(
    receiver: Receiver, endpoint: HttpReceiver, ended: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    monkeypatch.setattr(send_runs_to, "apply_async", lambda arguments, **_: started.append(*arguments))
    RunDelivery.objects.create(receiver=receiver, run=ended)
    send_runs()
    assert started == [receiver.pk]
    send_runs_to(receiver.pk)
    assert RunDelivery.objects.get().state == "sent"
