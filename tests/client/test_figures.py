"""Figures of runs, and DataFrames of polars, against what the agent told."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars
import pytest

from observatory.client import ObservatoryClient
from observatory.client.client import MEASURES
from observatory.client.figures import task_stream
from observatory.clusters.accounts.models import Membership
from observatory.clusters.tokens import access_tokens
from observatory.runs.models import Run
from observatory.wire.records import Action
from tests.support.observed_cluster import Observed
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import at
from tests.why.findings.simulated import Simulated, Task


@pytest.fixture
def secret(world: World) -> str:
    return access_tokens.make(world.people["viewer"], "notebook", None)[1]


@pytest.fixture
def client(observed: Observed, live_server: Any, secret: str) -> ObservatoryClient:
    return ObservatoryClient(live_server.url, secret)


def test_each_action_that_is_not_computing_has_a_color() -> None:
    assert {Action.COMPUTE, *task_stream.OTHER_COLORS} == set(Action)


def test_the_task_stream_has_a_bar_for_each_span_that_is_long_enough(
    client: ObservatoryClient, observed: Observed
) -> None:
    figure = client.run(observed.run.pk).plot_task_stream()
    placed = [
        (row, bars.name, pd.Timestamp(start).timestamp(), length / 1000)
        for bars in figure.data
        for row, start, length, text in zip(bars.y, bars.base, bars.x, bars.hovertext, strict=True)
        if "busy " not in text
    ]
    assert len(placed) == len(set(placed))
    drawn = [bar[1:] for bar in placed]
    reported = [
        (
            span.prefix if span.action == "compute" else span.action,
            span.start.timestamp(),
            (span.stop - span.start).total_seconds(),
        )
        for span in client.spans(observed.run.pk).itertuples()
    ]
    long = [bar for bar in reported if bar[2] > 0.2]
    assert "sum_slowly" in {name for name, _, _ in long}
    for bars, others in [(drawn, reported), (long, drawn)]:
        for name, start, length in bars:
            same = [
                other
                for other in others
                if other == (name, pytest.approx(start, rel=0, abs=2e-4), pytest.approx(length, abs=2e-4))
            ]
            assert same, (name, start, length)
    assert figure.to_json()


def test_a_stream_of_many_tasks_has_few_bars(world: World, live_server: Any, secret: str) -> None:
    cluster = Simulated([Task(f"work-{number}", 0.002) for number in range(4_000)], workers=1).record()
    Membership.objects.create(project=cluster.project, user=world.people["viewer"])
    run = Run.objects.create(
        cluster=cluster, name=f"small {HOSTILE}", origin="cut", start=at(0), stop=at(100)
    )
    figure = ObservatoryClient(live_server.url, secret).run(run.pk).plot_task_stream()
    bars = sum(len(trace.x) for trace in figure.data)
    assert 100 < bars <= 2 * task_stream.MOST_COLUMNS
    assert "busy " in figure.data[0].hovertext[0]
    assert "<img" not in figure.layout.title.text
    seconds = sum(length for trace in figure.data for length in trace.x) / 1000
    assert seconds >= 4_000 * 0.002 / 2


def test_the_figure_of_memory_has_the_samples_of_each_kind(
    client: ObservatoryClient, observed: Observed
) -> None:
    figure = client.run(observed.run.pk).plot_memory()
    assert [line.name for line in figure.data] == list(MEASURES)
    for line, measure in zip(figure.data, MEASURES, strict=True):
        known = [value for value in line.y if value is not None]
        most = client.memory(observed.run.pk, measure).samples["a run"].max()
        assert max(known) * 2**30 == pytest.approx(most)


def test_the_figure_of_why_adds_up_to_the_time_of_the_threads(
    client: ObservatoryClient, observed: Observed
) -> None:
    run = client.run(observed.run.pk)
    times = client._connection.json(f"/runs/{run['id']}/timeline/thread-times")
    [bars] = run.plot_why().data
    assert sum(bars.x) == pytest.approx(sum(kind["seconds"] for kind in times["kinds"]))
    assert set(bars.y) == {kind["title"] for kind in times["kinds"] if kind["seconds"]}


def test_frames_of_polars_have_the_rows_of_those_of_pandas(
    client: ObservatoryClient, observed: Observed, live_server: Any, secret: str
) -> None:
    run = observed.run.pk
    other = ObservatoryClient(live_server.url, secret, frames="polars")
    for theirs, ours in [
        (client.spans(run), other.spans(run)),
        (client.errors(run), other.errors(run)),
        (client.workers(run), other.workers(run)),
        (client.runs(), other.runs()),
        (client.find_tasks(observed.cluster.pk, "sum"), other.find_tasks(observed.cluster.pk, "sum")),
        (client.findings(run), other.findings(run)),
    ]:
        assert isinstance(ours, polars.DataFrame)
        assert ours.columns == list(theirs.columns)
        assert len(ours) == len(theirs)
        for name in ours.columns:
            for one, same in zip(ours[name].to_list(), theirs[name].tolist(), strict=True):
                is_missing = not isinstance(same, list | dict) and pd.isna(same)
                assert one is None if is_missing else one == same, name
    assert ours is not None
    assert other.spans(run).schema["start"] == polars.Datetime("us", "UTC")
    assert list(other.memory(run).samples) == ["a run"]
    with pytest.raises(ValueError, match="there are pandas, polars"):
        ObservatoryClient(live_server.url, secret, frames="arrow")
