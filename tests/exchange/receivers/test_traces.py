"""A run as a trace of OpenTelemetry: spans, links, resources, and what of a large run is sent."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from observatory.exchange.models import Receiver
from observatory.runs.models import Run
from observatory.store.connection import connect
from observatory.store.times import to_microseconds
from tests.exchange.receivers.conftest import Deliver
from tests.exchange.receivers.http_receiver import HttpReceiver, values
from tests.support.projects import HOSTILE
from tests.support.recorded_cluster import at
from tests.support.run_exceptions import raise_in
from tests.why.findings.simulated import Simulated, Task, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def run_of(simulated: Simulated, **fields: Any) -> Run:
    """A run with the whole recording."""
    cluster = simulated.record()
    known: dict[str, Any] = {"name": "nightly etl", "start": at(-1), "stop": at(simulated.makespan + 1)}
    return Run.objects.create(cluster=cluster, origin="code", **{**known, **fields})


def by_name(endpoint: HttpReceiver) -> dict[str, Span]:
    """Computations by their task's key."""
    return {
        key: span
        for _, span in endpoint.spans
        if (key := values(span.attributes).get("dask.task.key")) is not None
        and values(span.attributes)["dask.action"] == "compute"
    }


def test_a_run_is_a_trace_with_a_span_for_each_action_below_that_of_the_run(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver
) -> None:
    run = run_of(Simulated(map_reduce(8, 1.0)), tasks=9, tags={"git": "3f2a1c", "team": "ü"}, user="ada")
    delivery = deliver(run)
    assert (delivery.state, delivery.attempts, delivery.last_error) == ("sent", 1, "")
    (root,) = [span for _, span in endpoint.spans if not span.parent_span_id]
    assert root.name == "nightly etl"
    assert run.stop is not None
    assert (root.start_time_unix_nano, root.end_time_unix_nano) == (
        to_microseconds(run.start) * 1000,
        to_microseconds(run.stop) * 1000,
    )
    described = values(root.attributes)
    assert described["dask.run.tag.team"] == "ü"
    assert (described["dask.run.user"], described["dask.run.tasks"]) == ("ada", 9)
    others = [span for _, span in endpoint.spans if span.parent_span_id]
    assert {span.parent_span_id for span in others} == {root.span_id}
    assert {span.trace_id for _, span in endpoint.spans} == {root.trace_id}
    assert len({span.span_id for _, span in endpoint.spans}) == len(endpoint.spans)
    with connect() as connection:
        stored = connection.execute("SELECT count(*) FROM span WHERE cluster_id = %s", [run.cluster_id])
        assert len(others) == stored.fetchone()[0]  # type: ignore[index]
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in others)


def test_a_task_is_linked_to_the_computations_of_what_it_needed(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver
) -> None:
    tasks = [Task("load-1", 1.0), Task("load-2", 1.0), Task("sum-1", 1.0, ("load-1", "load-2"))]
    deliver(run_of(Simulated(tasks)))
    spans = by_name(endpoint)
    linked = {link.span_id for link in spans["sum-1"].links}
    assert linked == {spans["load-1"].span_id, spans["load-2"].span_id}
    assert {link.trace_id for link in spans["sum-1"].links} == {spans["sum-1"].trace_id}
    assert not spans["load-1"].links


def test_resources_are_described_by_the_conventions(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver
) -> None:
    run = run_of(Simulated(map_reduce(8, 1.0)), tags={"git": "3f2a1c", "branch": "main"})
    deliver(run)
    resources = [resource for resource, _ in endpoint.spans]
    assert {resource["service.name"] for resource in resources} == {run.cluster.name}
    assert {resource["service.namespace"] for resource in resources} == {run.cluster.project.slug}
    assert {resource["vcs.ref.head.revision"] for resource in resources} == {"3f2a1c"}
    assert {resource["vcs.ref.head.name"] for resource in resources} == {"main"}
    instances = {resource["service.instance.id"] for resource in resources}
    workers = {resource["dask.worker.address"] for resource in resources if "dask.worker.address" in resource}
    assert instances == workers | {run.cluster.scheduler_id}
    assert {resource["host.name"] for resource in resources if "host.name" in resource} == {"10.0.0.1"}
    thread = {values(span.attributes).get("thread.id") for _, span in endpoint.spans}
    assert thread == {None, 0, 1}


def test_what_the_runs_own_code_raised_is_the_state_of_its_span_and_a_log_record(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver
) -> None:
    run = run_of(Simulated(map_reduce(8, 1.0)))
    traceback = f'  File "/srv/etl.py", line 12, in report\n    orders["total"]\nKeyError: {HOSTILE}\n'
    raise_in(run, "KeyError", HOSTILE, traceback)
    assert "1 errors and 0 log lines." in deliver(run).report
    (root,) = [span for _, span in endpoint.spans if not span.parent_span_id]
    assert (root.status.code, root.status.message) == (Status.STATUS_CODE_ERROR, f"KeyError: {HOSTILE}")
    assert values(root.attributes)["error.type"] == "KeyError"
    [(resource, record)] = endpoint.logs
    assert (record.event_name, record.span_id, record.trace_id) == ("exception", root.span_id, root.trace_id)
    said = values(record.attributes)
    assert (said["exception.type"], said["exception.message"]) == ("KeyError", HOSTILE)
    assert (said["exception.stacktrace"], said["code.function.name"]) == (traceback, "report")
    assert resource["service.instance.id"] == run.cluster.scheduler_id


def test_the_trace_in_which_the_run_was_opened_goes_on(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver
) -> None:
    deliver(run_of(Simulated(map_reduce(8, 1.0)), tags={"trace": TRACE, "trace_span": PARENT}))
    (root,) = [span for _, span in endpoint.spans if span.name == "nightly etl"]
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == (TRACE, PARENT)
    assert {span.trace_id.hex() for _, span in endpoint.spans} == {TRACE}


@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"trace": "0" * 32, "trace_span": PARENT},
        {"trace": "<img src=x onerror=alert(1)>", "trace_span": PARENT},
        {"trace": TRACE.upper()},
    ],
)
def test_a_run_in_no_trace_gets_one_that_stays_the_same(
    tags: dict[str, str], receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver
) -> None:
    run = run_of(Simulated(map_reduce(8, 1.0)), tags=tags)
    delivery = deliver(run)
    first = endpoint.spans
    assert {span.parent_span_id for _, span in first if span.name == "nightly etl"} == {b""}
    endpoint.messages.clear()
    delivery.delete()
    deliver(Run.objects.get(pk=run.pk))
    assert [span.span_id for _, span in endpoint.spans] == [span.span_id for _, span in first]
    assert {span.trace_id for _, span in endpoint.spans} == {span.trace_id for _, span in first}
    if not tags:
        assert Run.objects.get(pk=run.pk).tags == {"trace": first[0][1].trace_id.hex()}


def test_of_a_large_run_the_critical_path_stragglers_and_failed_tasks_are_kept(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver
) -> None:
    tasks = [Task(f"load-{number}", 0.5) for number in range(600)]
    tasks += [Task("load-600", 9.0), Task("load-601", 0.5)]
    chain = [Task("step-0", 40.0)]
    chain += [Task(f"step-{number}", 40.0, (f"step-{number - 1}",)) for number in range(1, 4)]
    simulated = Simulated([*tasks, *chain], tries={"load-601": 2})
    run = run_of(simulated, tasks=606)
    receiver.most_tasks = 100
    receiver.save()
    delivery = deliver(run)
    assert delivery.report.startswith("100 of 606 tasks with ")
    spans = by_name(endpoint)
    assert len(spans) == 100
    assert {f"step-{number}" for number in range(4)} <= spans.keys()
    assert {"load-600", "load-601"} <= spans.keys()
    described = {key: values(span.attributes) for key, span in spans.items()}
    assert all(described[f"step-{number}"]["dask.critical_path"] for number in range(4))
    assert described["load-600"]["dask.straggler"]
    assert sum("dask.straggler" in one for one in described.values()) < 20
    failed = [span for _, span in endpoint.spans if span.status.code == Status.STATUS_CODE_ERROR]
    assert {values(span.attributes)["dask.task.key"] for span in failed} == {"load-601"}
    sent = {span.span_id for _, span in endpoint.spans}
    assert all(link.span_id in sent for _, span in endpoint.spans for link in span.links)


def test_a_failed_run_and_its_failed_tasks_have_the_status_of_errors(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    """With records of every kind, among them texts that are no names, and numbers that no float holds."""
    delivery = deliver(run)
    assert delivery.state == "sent"
    (root,) = [span for _, span in endpoint.spans if not span.parent_span_id]
    assert (root.status.code, root.status.message) == (Status.STATUS_CODE_ERROR, "with errors")
    failed = [span for _, span in endpoint.spans if span.name == "load"]
    assert failed
    assert {span.status.message for span in failed} == {"ValueError: no\nmore"}
    sizes = {values(span.attributes).get("dask.result.size") for _, span in endpoint.spans}
    assert sizes == {None, 2**53 + 1}
