"""Names of keys, workers, clusters and runs can be any text: they stay texts, of bounded length."""

from __future__ import annotations

import pytest

from observatory.exchange.models import Receiver
from observatory.runs.models import Run
from tests.exchange.receivers.conftest import Deliver
from tests.exchange.receivers.http_receiver import HttpReceiver, values
from tests.support.observed_cluster import FORMULA, HOSTILE, Observed

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_run_of_a_real_cluster_is_sent_with_all_that_was_recorded(
    receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, observed: Observed
) -> None:
    name = f"{HOSTILE} \N{PILE OF POO} \u202e" + "é" * 150
    Run.objects.filter(pk=observed.run.pk).update(name=name, tags={HOSTILE: HOSTILE, "": "x", "empty": ""})
    delivery = deliver(Run.objects.get(pk=observed.run.pk))
    assert (delivery.state, delivery.last_error) == ("sent", "")
    (root,) = [span for _, span in endpoint.spans if not span.parent_span_id]
    assert root.name == name
    assert values(root.attributes)[f"dask.run.tag.{HOSTILE}"] == HOSTILE
    keys = {values(span.attributes).get("dask.task.key") for _, span in endpoint.spans}
    assert {f"len-{HOSTILE}", FORMULA, "make-1"} <= keys
    computed = [span for _, span in endpoint.spans if values(span.attributes).get("dask.action") == "compute"]
    assert len(computed) == observed.run.tasks
    failed = {span.span_id: values(span.attributes)["dask.task.key"] for span in computed if span.status.code}
    assert len(failed) == 3

    errors = [record for _, record in endpoint.logs if record.event_name == "exception"]
    assert {record.body.string_value for record in errors} == {
        f"ValueError: no {number}" for number in range(3)
    }
    for record in errors:
        described = values(record.attributes)
        assert failed[record.span_id] == described["dask.task.key"]
        assert ", in fail" in described["exception.stacktrace"]
        assert record.trace_id == root.trace_id
    lines = [(resource, record) for resource, record in endpoint.logs if record.event_name != "exception"]
    warnings = [each for each in lines if each[1].body.string_value.startswith("about to fail")]
    assert len(warnings) == 3
    assert {record.severity_text for _, record in warnings} == {"WARNING"}
    assert all("dask.worker.address" in resource for resource, _ in warnings)

    names = {metric.name for _, metric in endpoint.metrics}
    assert {"observatory_worker_memory_bytes", "observatory_cluster_tasks"} <= names
    memory = [each for each in endpoint.metrics if each[1].name == "observatory_worker_memory_bytes"]
    assert len({resource["service.instance.id"] for resource, _ in memory}) == 2
    assert {metric.unit for _, metric in memory} == {"By"}
    points = [point for _, metric in memory for point in metric.gauge.data_points]
    assert {values(point.attributes)["dask.type"] for point in points} > {"managed"}
    assert all(point.as_double >= 0 for point in points)
