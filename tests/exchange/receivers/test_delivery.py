"""Which runs are sent to a receiver, and what becomes of those that it doesn't take."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers import delivery as module
from observatory.exchange.receivers.delivery import deliver_to, due_receivers
from observatory.exchange.receivers.receiver_kind import NotYet
from observatory.exchange.tasks import send_runs, send_runs_to
from observatory.runs.models import Run
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import RECEIVERS, try_lock
from tests.exchange.receivers.conftest import Deliver
from tests.exchange.receivers.http_receiver import Answer, HttpReceiver
from tests.support.projects import World

pytestmark = pytest.mark.django_db(transaction=True)
MINUTE = timedelta(minutes=1)


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


def test_a_refusal_says_what_was_refused(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    endpoint.statuses = {"/v1/metrics": 400}
    delivery = deliver(run)
    assert (delivery.state, delivery.last_error) == ("failed", "It answered 400 Bad Request to metrics.")


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
