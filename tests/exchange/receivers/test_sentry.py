"""The errors of a run in Sentry: an event a kind of error, parsed by Sentry's own library."""

from __future__ import annotations

import json
from traceback import format_exception
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from sentry_sdk.utils import event_from_exception

from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers.sentry.events import CAUSE, MOST_EARLIER, exceptions_of, frames_of
from observatory.runs.models import Run
from observatory.store.queries.tasks.errors import TaskError
from tests.exchange.receivers.conftest import Deliver
from tests.exchange.receivers.http_receiver import Answer, HttpReceiver
from tests.pages.conftest import recorded
from tests.support.observed_cluster import Observed
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import Recorded, at
from tests.support.run_exceptions import raise_in

__all__ = ["recorded"]

pytestmark = pytest.mark.django_db(transaction=True)
TRACEBACK = """  File "/usr/lib/python3.12/site-packages/pandas/io.py", line 7, in read
    return open(path)
  File "/srv/etl/load.py", line 12, in load
    raise ValueError(path)
"""


@pytest.fixture
def failed(world: World, recorded: Recorded) -> Run:
    """A run in which two kinds of errors occurred, one of them three times."""
    for number in range(3):
        recorded.error(10.0 + number, f"load-{number}", message=f"no {number}", traceback=TRACEBACK)
    recorded.error(20.0, f"sum-{HOSTILE}", "KeyError", HOSTILE)
    return Run.objects.create(
        cluster=world.ended,
        name="nightly etl",
        origin="code",
        outcome="erred",
        start=at(0),
        stop=at(60),
        tags={"git": "3f2a1c", "environment": "staging"},
    )


def test_each_kind_of_error_is_an_event_with_place_release_and_run(
    sentry: Receiver, endpoint: HttpReceiver, deliver: Deliver, failed: Run, settings: LazySettings
) -> None:
    settings.PUBLIC_URL = "https://observatory.example.org"
    delivery = deliver(failed)
    assert (delivery.state, delivery.report) == ("sent", "2 of 2 kinds of errors.")
    ((path, headers), _) = endpoint.requests
    assert path == "/sub/api/7/envelope/"
    assert "sentry_key=publickey" in headers["X-Sentry-Auth"]
    (often, once) = endpoint.events
    (exception,) = often["exception"]["values"]
    assert (exception["type"], exception["value"]) == ("ValueError", "no 2")
    frames = exception["stacktrace"]["frames"]
    assert [(frame["function"], frame["lineno"], frame["in_app"]) for frame in frames] == [
        ("read", 7, False),
        ("load", 12, True),
    ]
    assert frames[1]["context_line"] == "raise ValueError(path)"
    assert often["fingerprint"] == ["dask-observatory", "ValueError", "load.py:load"]
    assert (often["release"], often["environment"]) == ("3f2a1c", "staging")
    assert often["contexts"]["dask"]["failed attempts"] == 3
    url = f"https://observatory.example.org/runs/{failed.pk}/"
    assert often["tags"]["url"] == often["contexts"]["dask"]["url"] == url
    assert often["tags"]["run"] == "nightly etl"
    assert once["exception"]["values"][0]["value"] == HOSTILE
    assert once["contexts"]["dask"]["key"] == f"sum-{HOSTILE}"


def test_a_run_that_is_sent_again_has_the_same_events_and_those_of_others_the_same_fingerprints(
    sentry: Receiver, endpoint: HttpReceiver, deliver: Deliver, failed: Run
) -> None:
    deliver(failed)
    first, endpoint.events = endpoint.events, []
    RunDelivery.objects.all().delete()
    deliver(failed)
    second, endpoint.events = endpoint.events, []
    assert [event["event_id"] for event in second] == [event["event_id"] for event in first]
    other = Run.objects.create(
        cluster=failed.cluster, name="again", origin="code", start=at(0.5), stop=at(59), tags={}
    )
    deliver(other)
    assert [event["fingerprint"] for event in endpoint.events] == [event["fingerprint"] for event in first]
    assert not {event["event_id"] for event in endpoint.events} & {event["event_id"] for event in first}
    assert not {"release", "environment"} & endpoint.events[0].keys()


REPORT = """Traceback (most recent call last):
  File "/srv/etl/nightly.py", line 40, in <module>
    report(orders)
  File "/srv/etl/nightly.py", line 31, in report
    return orders["total"]
KeyError: 'total'
"""


def test_what_the_runs_own_code_raised_is_an_event_by_exception_and_place(
    sentry: Receiver, endpoint: HttpReceiver, deliver: Deliver, failed: Run
) -> None:
    raise_in(failed, "KeyError", f"'total' {HOSTILE}", REPORT)
    assert deliver(failed).report == "3 of 3 kinds of errors."
    event = endpoint.events[-1]
    assert event["fingerprint"] == ["dask-observatory", "KeyError", "nightly.py:report"]
    assert (event["level"], event["release"], event["tags"]["run"]) == ("error", "3f2a1c", "nightly etl")
    [exception] = event["exception"]["values"]
    assert (exception["type"], exception["value"]) == ("KeyError", f"'total' {HOSTILE}")
    assert exception["mechanism"]["handled"] is False
    assert [frame["lineno"] for frame in exception["stacktrace"]["frames"]] == [40, 31]
    assert "prefix" not in event["tags"]
    RunDelivery.objects.all().delete()
    deliver(failed)
    assert endpoint.events[-1]["event_id"] == event["event_id"], "Sentry drops it"


def test_what_tasks_had_failed_with_is_no_event_of_the_runs_code(
    sentry: Receiver, endpoint: HttpReceiver, deliver: Deliver, failed: Run
) -> None:
    gathered = REPORT.replace("KeyError: 'total'", "ValueError: no 2")
    raise_in(failed, "ValueError", "no 2", gathered)
    assert deliver(failed).report == "2 of 2 kinds of errors."
    RunDelivery.objects.all().delete()
    raise_in(failed, "ValueError", "another", gathered)
    assert deliver(failed).report == "3 of 3 kinds of errors."
    assert endpoint.events[-1]["fingerprint"] == ["dask-observatory", "ValueError", "nightly.py:report"]


def test_arguments_are_sent_only_where_they_are_asked_for_and_are_bounded(
    sentry: Receiver, endpoint: HttpReceiver, deliver: Deliver, failed: Run, recorded: Recorded
) -> None:
    recorded.error(30.0, "save-1", "TypeError", arguments="path='s3://secret'\n" + "x" * 9_000)
    deliver(failed)
    assert "s3://secret" not in json.dumps(endpoint.events)
    endpoint.events.clear()
    RunDelivery.objects.all().delete()
    Receiver.objects.update(sends_arguments=True)
    deliver(failed)
    (event,) = [event for event in endpoint.events if "extra" in event]
    assert event["exception"]["values"][0]["type"] == "TypeError"
    assert event["extra"]["arguments"].startswith("path='s3://secret'")
    assert len(event["extra"]["arguments"]) == 2_000


def test_a_run_without_errors_sends_nothing(
    sentry: Receiver, endpoint: HttpReceiver, deliver: Deliver, failed: Run
) -> None:
    failed.start = at(50)
    delivery = deliver(failed)
    assert (delivery.state, delivery.report) == ("sent", "0 of 0 kinds of errors.")
    assert endpoint.requests == []


def test_what_sentry_limits_is_sent_again_and_what_it_refuses_is_not(
    sentry: Receiver, endpoint: HttpReceiver, deliver: Deliver, failed: Run
) -> None:
    endpoint.answers = [Answer(429, {"Retry-After": "60"})]
    assert deliver(failed).state == "due"
    RunDelivery.objects.all().delete()
    endpoint.answers = [Answer(403, body=b'{"detail": "unknown key"}')]
    delivery = deliver(failed)
    assert (delivery.state, delivery.last_error) == ("failed", "It answered 403 Forbidden.")


def test_the_errors_of_a_real_cluster_are_one_event(
    sentry: Receiver, endpoint: HttpReceiver, deliver: Deliver, observed: Observed
) -> None:
    delivery = deliver(observed.run)
    assert delivery.report == "1 of 1 kinds of errors."
    (event,) = endpoint.events
    assert event["fingerprint"][1:] == ["ValueError", "observed_tasks.py:fail"]
    assert event["contexts"]["dask"]["failed attempts"] == 3
    assert event["exception"]["values"][0]["stacktrace"]["frames"][-1]["function"] == "fail"
    assert event["server_name"] in {"0", "1"}
    assert "modules" not in event
    assert "user" not in event


@pytest.mark.parametrize(
    ("traceback", "functions"),
    [
        ("", []),
        ("no traceback at all", []),
        (f"Traceback (most recent call last):\n{TRACEBACK}ValueError: x\n", ["read", "load"]),
        ('  File "a.py", line 1, in f\n' * 500, ["f"] * 100),
        ('  File "a.py", line 99999999999999999999, in f\n', []),
    ],
)
def test_frames_are_those_that_python_prints(traceback: str, functions: list[str]) -> None:
    frames: list[dict[str, Any]] = frames_of(traceback)
    assert [frame["function"] for frame in frames] == functions


def failed_with(traceback: str) -> TaskError:
    times = {"id": uuid4(), "time": at(1), "retries": 0, "workers": [], "dependents": 0, "arguments": ""}
    texts = {"prefix": "parse", "key": "parse-1", "outcome": "erred", "worker": "0", "function": "parse"}
    return TaskError(**times, **texts, exception_type="RuntimeError", message="no row", traceback=traceback)


def parse() -> None:
    try:
        try:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no: start")
        except ValueError:
            {}["key"]
    except KeyError as error:
        raise RuntimeError("no row") from error


def test_the_exceptions_that_led_to_an_error_are_told_with_it_and_how_they_hang_together() -> None:
    """As Python prints them here, and as Sentry's own library says it of an exception in its process."""
    try:
        parse()
    except RuntimeError as error:
        printed = "".join(format_exception(error))
        told = event_from_exception(error)[0]["exception"]["values"]
    found = exceptions_of(failed_with(printed), is_handled=False)
    assert [(one["type"], one["value"]) for one in found] == [(one["type"], one["value"]) for one in told]
    links = [(one["mechanism"].get("source"), one["mechanism"].get("parent_id")) for one in found]
    assert links == [("__context__", 1), ("__cause__", 0), (None, None)]
    assert [one["mechanism"]["exception_id"] for one in found] == [2, 1, 0]
    lines = [one["stacktrace"]["frames"][-1]["lineno"] for one in found]
    assert lines == [one["stacktrace"]["frames"][-1]["lineno"] for one in told]


@pytest.mark.parametrize(
    ("traceback", "types"),
    [
        (f"KeyError\n\n{CAUSE}\n\n" * 500, ["KeyError"] * MOST_EARLIER + ["RuntimeError"]),
        (f"\n{CAUSE}\n{CAUSE}\n", ["", "", "RuntimeError"]),
        (f"{TRACEBACK}pkg.errors.Broken: a\nb: c\n\n{CAUSE}\n\n{TRACEBACK}", ["Broken", "RuntimeError"]),
    ],
    ids=["many", "nothing between", "of a package"],
)
def test_odd_tracebacks_have_bounded_exceptions(traceback: str, types: list[str]) -> None:
    assert [one["type"] for one in exceptions_of(failed_with(traceback), is_handled=False)] == types
