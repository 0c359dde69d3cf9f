"""Sending a run takes memory by what is sent of it, not by how large it is."""

from __future__ import annotations

import tracemalloc

import pytest
from django.utils.timezone import now

from observatory.exchange.models import Receiver
from observatory.exchange.receivers.kinds import receiver_kind
from observatory.exchange.receivers.progress import Progress
from observatory.exchange.receivers.receiver_kind import Options
from observatory.exchange.receivers.secrets import decrypt
from observatory.runs.models import Run, RunFindings
from observatory.store.connection import connect_reader
from observatory.why import window
from tests.exchange.receivers.http_receiver import HttpReceiver
from tests.pages.conftest import recorded
from tests.support.projects import World
from tests.support.recorded_cluster import Recorded, at

__all__ = ["recorded"]

pytestmark = pytest.mark.django_db(transaction=True)
MIB = 2**20


def make_run(world: World, recorded: Recorded, tasks: int) -> Run:
    """Of tasks that need the one before each, in ten minutes. It was looked at, and was too large."""
    recorded.worker("tcp://10.0.0.1:1", "w0")
    recorded.span("('load-1', 0)", "tcp://10.0.0.1:1", 0, 0.001)
    recorded.span("('load-1', 'last')", "tcp://10.0.0.1:1", 599, 600)
    recorded.dependency("('load-1', 1)", "('load-1', 0)")
    connection = recorded.connection
    connection.execute(
        """INSERT INTO span (cluster_id, lane_id, prefix_id, group_id, key_rest, action, start, stop, nbytes,
               typename_id, status)
           SELECT cluster_id, lane_id, prefix_id, group_id, replace(key_rest, ' 0)', ' ' || number || ')'),
               action, start + number * %(step)s * interval '1 us',
               stop + number * %(step)s * interval '1 us', nbytes, typename_id, status
           FROM span CROSS JOIN generate_series(1, %(most)s) AS number
           WHERE cluster_id = %(cluster)s AND stop < %(second)s""",
        {"cluster": recorded.cluster, "most": tasks, "step": 590_000_000 // tasks, "second": at(1)},
    )
    names = [
        name
        for (name,) in connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'dependency'"
        )
        if name not in {"key_rest", "depends_on_rest"}
    ]
    columns = ", ".join(names)
    connection.execute(
        f"""INSERT INTO dependency ({columns}, key_rest, depends_on_rest)
            SELECT {columns}, replace(key_rest, ' 1)', ' ' || number || ')'),
                replace(depends_on_rest, ' 0)', ' ' || number - 1 || ')')
            FROM dependency CROSS JOIN generate_series(2, %s) AS number WHERE cluster_id = %s""".encode(),
        [tasks, recorded.cluster],
    )
    fields = {"name": "large", "origin": "code", "start": at(0), "stop": at(601)}
    run = Run.objects.create(cluster=world.ended, tasks=tasks, counted=now(), **fields)
    assert run.counted is not None
    RunFindings.objects.create(run=run, state=RunFindings.State.TOO_LARGE, counted=run.counted)
    return run


@pytest.mark.parametrize(
    ("tasks", "sent", "most"),
    [
        (20_000, 500, 8 * MIB),
        pytest.param(1_000_000, 100_000, 64 * MIB, marks=pytest.mark.long),
    ],
)
def test_memory_is_bounded_by_the_tasks_that_are_sent(
    tasks: int,
    sent: int,
    most: int,
    world: World,
    recorded: Recorded,
    receiver: Receiver,
    endpoint: HttpReceiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window, "MOST_SPANS", 10_000)
    run = make_run(world, recorded, tasks)
    endpoint.keeps = False
    kind, address = receiver_kind(receiver.kind), decrypt(receiver.secret)
    with connect_reader() as connection:
        kind.send(connection, run, address, Options(most_tasks=100), Progress())  # imports and caches
        endpoint.received = endpoint.largest = 0
        tracemalloc.start()
        report = kind.send(connection, run, address, Options(most_tasks=sent), Progress())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert report.startswith(f"{sent:,} of {tasks:,} tasks with {sent:,} spans.")
    assert endpoint.received == sent + 1
    assert endpoint.largest < MIB
    print(f"{tasks:,} tasks, {sent:,} sent: {peak / MIB:.1f} MiB")
    assert peak < most
