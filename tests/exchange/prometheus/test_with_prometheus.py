"""Debian's Prometheus answers PromQL over what is stored here, also of a cluster that is in the archive."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings

from observatory.clusters.tokens import access_tokens
from observatory.store.archive.rounds.round import archive_round
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.records import MetricType, Sample, Series, WorkerGone, WorkerSeen
from tests.browser.observatory import free_port
from tests.store.archive.conftest import remove_unused
from tests.support.projects import World
from tests.support.prometheus import ask, ask_range, prometheus
from tests.support.web_process import web_process

BEGIN = 1_790_000_000.0
WORKERS = [f"tcp://10.0.0.{number}:4000" for number in range(3)]
SECONDS = "dask_worker_ticks_total"
STATES = "dask_scheduler_tasks"


def record(world: World) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Ten minutes of three workers; returns samples by metric and label. One dies, one begins anew."""
    samples: list[Sample] = []
    for number, address in enumerate(WORKERS):
        counter = Series(SECONDS, (), address, MetricType.COUNTER)
        for tick in range(0, 600 if number else 300, 15):
            value = tick * (number + 1.0) if number < 2 or tick < 300 else (tick - 300) / 3
            samples.append(Sample(counter, BEGIN + tick + number / 8, value))
    for state, value in (("memory", 7.0), ("erred", math.nan)):
        series = Series(STATES, (("state", state),))
        samples += [Sample(series, BEGIN + tick, value + tick) for tick in range(0, 600, 15)]
    seen = [WorkerSeen(address, f"w{number}", "h", 1, 0, BEGIN) for number, address in enumerate(WORKERS)]
    gone = [WorkerGone(WORKERS[0], BEGIN + 290, "lost")]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, seen, [], samples, [], gone))
    world.ended.ended = from_seconds(BEGIN + 600)
    world.ended.save()
    by_series: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for sample in samples:
        key = (sample.series.metric, sample.series.worker or sample.series.labels[0][1])
        by_series.setdefault(key, []).append((sample.time, sample.value))
    return by_series


@pytest.fixture
def url(
    connection: psycopg.Connection, world: World, settings: LazySettings, tmp_path: Path
) -> Iterator[str]:
    """Prometheus, which knows nothing of its own. There is an archive."""
    settings.ARCHIVE = str(tmp_path / "archive")
    Path(settings.ARCHIVE).mkdir()
    secret = access_tokens.make(world.people["viewer"], "prometheus", None)[1]
    with web_process(tmp_path, free_port(), OBSERVATORY_ARCHIVE=settings.ARCHIVE) as observatory:
        remote = {
            "url": f"{observatory}/api/v1/prometheus/read",
            "authorization": {"credentials": secret},
            "read_recent": True,
        }
        with prometheus(tmp_path / "prometheus", {"remote_read": [remote]}) as url:
            yield url


def assert_answers(url: str, stored: dict[tuple[str, str], list[tuple[float, float]]]) -> None:
    for metric, label in ((SECONDS, "instance"), (STATES, "state")):
        # a range vector is what is stored; values are text of the shortest number that is the same
        found = {
            (metric, dict(labels)[label]): [(float(time), float(value)) for time, value in samples]
            for labels, samples in ask(url, f"{metric}[20m]", BEGIN + 900).items()
        }
        wanted = {key: samples for key, samples in stored.items() if key[0] == metric}
        assert repr(sorted(found.items())) == repr(sorted(wanted.items()))  # NaN isn't NaN
    increase = ask(url, f"sum by (instance) (increase({SECONDS}[20m]))", BEGIN + 600)
    reset = float(increase[("instance", WORKERS[2]),][1])
    assert reset == pytest.approx(285 * 3 + 285 / 3, rel=0.1), "a reset is no decrease"
    counts = ask_range(url, f"count({SECONDS})", BEGIN + 60, BEGIN + 660, 60)[()]
    assert [int(value) for _, value in counts] == [3] * 4 + [2] * 6, "marks end what ended"
    assert ask(url, f'sum({STATES}{{state="memory",project="alpha"}})', BEGIN + 59)[()][1] == "52"
    assert ask(url, f'{STATES}{{project="beta"}}', BEGIN + 59) == {}


def test_prometheus_reads_what_is_stored_sample_by_sample(url: str, world: World) -> None:
    assert_answers(url, record(world))


def test_prometheus_reads_what_left_for_the_archive(
    url: str, connection: psycopg.Connection, world: World
) -> None:
    stored = record(world)
    archive_round()
    assert remove_unused(connection, world.ended.pk) == sum(map(len, stored.values()))
    [(left,)] = connection.execute("SELECT count(*) FROM sample").fetchall()
    assert left == 0
    assert_answers(url, stored)
