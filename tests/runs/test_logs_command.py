"""`dask-observatory logs` prints what the tab of logs shows."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from observatory.clusters.models import Cluster
from observatory.runs.management.commands import logs
from observatory.runs.models import Run
from observatory.store.connection import connect
from observatory.store.times import from_seconds
from tests.replay.conftest import make_cluster
from tests.support.recorded_cluster import START, Recorded, at

A = "tcp://10.0.0.1:4000"


@pytest.fixture
def recorded(transactional_db: None) -> Iterator[Recorded]:
    cluster = make_cluster(START - 100)
    with connect() as connection:
        recorded = Recorded(connection, cluster.pk)
        recorded.worker(A, "w0")
        recorded.log(1, "starts")
        recorded.log(2, "Memory \x1b[31mhigh", 30, "worker", A, "distributed.worker.memory")
        recorded.log(3, "failed", 40, "nanny", A, traceback="Traceback\nKeyError: 'x'")
        recorded.log(30, "ends")
        yield recorded


def printed(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("logs", *arguments, stdout=out)
    return out.getvalue().splitlines()


def test_lines_of_a_cluster_are_printed_in_order_of_time_and_cannot_control_the_terminal(
    recorded: Recorded,
) -> None:
    assert printed(f"clusters/{recorded.cluster}") == [
        "2026-05-28 20:26:41.000 info     scheduler distributed.core: starts",
        "2026-05-28 20:26:42.000 warning  worker w0 distributed.worker.memory: Memory �[31mhigh",
        "2026-05-28 20:26:43.000 error    nanny w0 distributed.core: failed",
        "    Traceback",
        "    KeyError: 'x'",
        "2026-05-28 20:27:10.000 info     scheduler distributed.core: ends",
    ]


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        (["--level", "error"], ["failed"]),
        (["--process", "worker"], ["high"]),
        (["--worker", "W0"], ["high", "failed"]),
        (["--logger", "distributed.worker"], ["high"]),
        (["--match", "^f.*d$|keyerror"], ["failed"]),
        (["--since", "2026-05-28T20:26:43", "--until", "2026-05-28T20:27:00Z"], ["failed"]),
        (["--since", "5min"], []),
    ],
)
def test_options_select_lines(recorded: Recorded, options: list[str], messages: list[str]) -> None:
    lines = printed(f"clusters/{recorded.cluster}", *options)
    assert [line.split()[-1].removeprefix("�[31m") for line in lines if line[0] != " "] == messages


def test_a_run_has_the_lines_of_its_window_and_is_found_by_name_or_address(recorded: Recorded) -> None:
    cluster = Cluster.objects.get()
    run = Run.objects.create(cluster=cluster, name="nightly", origin=Run.Origin.CUT, start=at(2), stop=at(4))
    for of in ("nightly", f"runs/{run.pk}", f"https://observatory/runs/{run.pk}/?tab=logs"):
        assert [line.split(": ")[-1] for line in printed(of) if line[0] != " "] == [
            "Memory �[31mhigh",
            "failed",
        ]
    assert len(printed(cluster.name)) == 6
    with pytest.raises(CommandError, match="no cluster and no run 'other'"):
        printed("other")
    with pytest.raises(CommandError, match="isn't a valid regular expression"):
        printed("nightly", "--match", "a(b")


def test_new_lines_are_followed_until_the_cluster_ends(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.objects.update(ended=None)
    happens: list[Any] = [
        lambda: (recorded.log(32, "new"), recorded.log(29, "late")),
        lambda: None,
        lambda: (recorded.log(33, "last"), Cluster.objects.update(ended=from_seconds(START + 40))),
    ]
    monkeypatch.setattr(logs.time, "sleep", lambda seconds: happens.pop(0)())
    lines = printed(f"clusters/{recorded.cluster}", "--level", "info", "--follow", "--process", "scheduler")
    assert [line.split()[-1] for line in lines] == ["starts", "ends", "late", "new", "last"]
