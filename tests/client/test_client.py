"""An Observatory from a notebook: what a real run's agent told, as DataFrames."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from io import BytesIO
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from distributed.diagnostics.memory_sampler import MemorySampler
from django.test import Client

from observatory.client import MemorySamples, ObservatoryClient, ObservatoryError
from observatory.client.client import MEASURES
from observatory.client.connection import Connection
from observatory.clusters.accounts.models import Membership
from observatory.clusters.tokens import access_tokens
from observatory.exchange.records import api as records_api
from observatory.runs.models import Run, Usage
from observatory.wire.blocks import decode
from observatory.wire.records import Action
from tests.support.observed_cluster import FORMULA, HOSTILE, Observed
from tests.support.projects import World
from tests.support.recorded_cluster import at
from tests.why.findings.simulated import Simulated, Task, futures

SECOND = timedelta(seconds=1)


@pytest.fixture
def client(observed: Observed, world: World, live_server: Any) -> ObservatoryClient:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    return ObservatoryClient(live_server.url, secret)


def test_clusters_and_runs_are_listed_with_their_times(client: ObservatoryClient, observed: Observed) -> None:
    clusters = client.clusters(search="observed")
    assert list(clusters["id"]) == [observed.cluster.pk]
    assert clusters["started"].dt.tz is not None
    runs = client.runs(name="a run")
    assert list(runs["id"]) == [observed.run.pk]
    assert runs["start"][0].timestamp() == pytest.approx(observed.run.start.timestamp(), abs=1e-6)
    assert client.run(runs.iloc[0])["name"] == "a run"


def test_usage_is_a_row_for_each_day_and_group(client: ObservatoryClient, observed: Observed) -> None:
    assert client.usage(since="2020-01-01", until="2020-01-02").empty
    day = observed.cluster.started
    Usage.objects.create(cluster=observed.cluster, day=day.date(), until=day, thread_seconds=60, tasks=5)
    found = client.usage(since=day.date().isoformat(), until=day.date().isoformat())
    assert list(found["tasks"]) == [5]
    assert found["day"][0].date() == day.date()


def test_tasks_are_found_by_a_part_of_their_key_however_small_the_pages(
    client: ObservatoryClient, observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("observatory.client.client.PAGE_SIZE", 3)
    computed = {row["key"] for row in observed.received.rows["span"] if row["action"] == Action.COMPUTE}
    wanted = {key for key in computed if "sum_slowly" in key}
    assert len(wanted) > 3
    cluster = observed.cluster.pk
    found = client.find_tasks(cluster, "SUM_SLOWLY")
    assert wanted <= set(found["key"])
    assert found["time"].dt.tz is not None
    assert list(client.find_tasks(cluster, "sum_slowly", limit=4)["key"]) == list(found["key"][:4])
    assert list(client.find_tasks(cluster, HOSTILE)["key"])
    assert client.find_tasks(cluster, "no task is named like this").empty
    assert [task["cluster"] for task in client.search("sum_slowly")["tasks"]] == [cluster]


def test_spans_are_those_that_the_agent_told(client: ObservatoryClient, observed: Observed) -> None:
    spans, reported = client.spans(observed.run.pk), observed.received.rows["span"]
    assert Counter(spans["key"]) == Counter(row["key"] for row in reported)
    assert {f"len-{HOSTILE}", FORMULA} <= set(spans["key"])
    assert Counter(spans["action"]) == Counter(Action(row["action"]).label for row in reported)
    assert sorted(spans["start"]) == list(spans["start"])
    assert sorted(time.timestamp() for time in spans["start"]) == pytest.approx(
        sorted(row["start"] for row in reported), abs=2e-6
    )
    assert set(client.spans(observed.run.pk, prefix="sum_slowly")["prefix"]) == {"sum_slowly"}


@pytest.mark.parametrize("kind", ["error", "log", "transition", "transfer", "profile"])
def test_every_record_of_a_kind_comes_once_however_small_the_pages(
    client: ObservatoryClient, observed: Observed, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    whole = client.records(observed.run.pk, kind)
    assert len(whole) == len(observed.received.rows[kind])
    get = Connection.get
    asked: list[Any] = []

    def in_pages(self: Connection, path: str, parameters: Any) -> bytes:
        asked.append(path)
        return get(self, path, {**parameters, "limit": 7})

    monkeypatch.setattr(Connection, "get", in_pages)
    paged = client.records(observed.run.pk, kind)
    assert len(asked) == max(1, -(-len(whole) // 7))
    columns = list(whole.columns)
    pd.testing.assert_frame_equal(
        paged.sort_values(columns, ignore_index=True), whole.sort_values(columns, ignore_index=True)
    )


def test_a_kind_without_records_is_a_frame_with_its_columns(
    client: ObservatoryClient, observed: Observed
) -> None:
    frame = client.records(observed.run.pk, "span", start=1e9, stop=1e9 + 1)
    assert len(frame) == 0
    assert "key" in frame.columns
    assert set(client.kinds(observed.run.pk)) >= {"span", "sample", "log", "stack"}


def test_memory_has_the_shape_of_distributeds_sampler(client: ObservatoryClient, observed: Observed) -> None:
    memory = client.memory([observed.run.pk])
    reported = [
        row
        for row in observed.received.rows["sample"]
        if json.loads(row["series"])[:2] == ["observatory_cluster_memory_bytes", {"type": "process"}]
    ]
    ours = memory.to_pandas()
    assert list(ours["a run"]) == [row["value"] for row in sorted(reported, key=lambda row: row["time"])]
    theirs = MemorySampler()
    theirs.samples = {"a run": [(row["time"], row["value"]) for row in reported]}
    for align in (False, True):
        wanted, found = theirs.to_pandas(align=align), memory.to_pandas(align=align)
        assert list(found.columns) == list(wanted.columns)
        assert type(found.index) is type(wanted.index)
        assert list(found["a run"]) == list(wanted["a run"])
        off = np.abs((found.index - wanted.index).total_seconds())
        assert off.max() < 1e-5


def test_runs_are_aligned_as_distributeds_sampler_aligns_them() -> None:
    samples = {"one": [(1000.0, 1), (1001.0, 2), (1003.0, 3)], "two": [(2000.0, 5), (2002.0, 6)]}
    theirs = MemorySampler()
    theirs.samples = samples
    ours = MemorySamples(
        {
            name: pd.Series([value for _, value in rows], pd.to_datetime([t for t, _ in rows], unit="s"))
            for name, rows in samples.items()
        }
    )
    for align in (False, True):
        pd.testing.assert_frame_equal(
            ours.to_pandas(align=align), theirs.to_pandas(align=align), check_names=False
        )


@pytest.mark.parametrize("align", [False, True])
def test_a_plot_has_a_line_a_run_in_gibibytes(align: bool) -> None:
    matplotlib.use("Agg")
    times = pd.to_datetime([1000.0, 1001.0, 1003.0], unit="s")
    samples = {"one": pd.Series([2**30, 2**31, 2**30], times), "two": pd.Series([2**29], times[:1])}
    axes = MemorySamples(samples).plot(align=align, title="memory")
    assert [line.get_label() for line in axes.lines] == ["one", "two"]
    assert list(axes.lines[0].get_ydata()) == [1.0, 2.0, 1.0]
    assert axes.get_ylabel() == "Memory (GiB)"
    axes.figure.savefig(BytesIO())


def test_the_memory_of_runs_on_a_timeline_is_that_of_notebooks(
    client: ObservatoryClient, observed: Observed, world: World
) -> None:
    run = observed.run
    second = Run.objects.create(
        cluster=run.cluster, name="its end", origin=Run.Origin.CUT, start=run.start + SECOND, stop=run.stop
    )
    for measure in MEASURES:
        query = f"runs={run.pk},{second.pk}&measure={measure}"
        shown = world.client("viewer").get(f"/api/v1/runs/memory?{query}").json()
        ours = client.memory([run.pk, second.pk], measure).samples
        for aligned in shown["runs"]:
            samples = ours[aligned["name"]]
            since = (
                samples.index.tz_localize("UTC") - pd.Timestamp(aligned["start"], unit="s", tz="UTC")
            ).total_seconds()
            most = samples.groupby((since // shown["width"]).astype(int)).max()
            assert len(most) > 1
            assert [aligned["line"][place] for place in most.index] == list(most)
            assert aligned["peak"] == samples.max()


def test_memory_of_a_measure_that_there_is_not_is_refused(
    client: ObservatoryClient, observed: Observed
) -> None:
    with pytest.raises(ValueError, match="there are process, managed"):
        client.memory(observed.run.pk, measure="swapped")


def test_findings_are_rows_and_none_of_a_quiet_run_has_the_same_columns(
    world: World, live_server: Any
) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    client = ObservatoryClient(live_server.url, secret)
    cluster = Simulated([*futures(60, 0.5), Task(f"work-{HOSTILE}", 9)]).record()
    Membership.objects.create(project=cluster.project, user=world.people["viewer"])
    run, quiet = (
        Run.objects.create(cluster=cluster, name="etl", origin="cut", start=at(0), stop=at(stop))
        for stop in (20, 0.4)
    )
    found = client.findings(run.pk)
    assert found["kind"][0] == "stragglers"
    assert found["sentence"][0].startswith("1 task of work took 9.00 s")
    assert found["tasks"][0][0]["key"] == f"work-{HOSTILE}"
    assert list(found["thread_seconds"]) == sorted(found["thread_seconds"], reverse=True)
    none = client.findings(client.run(quiet.pk))
    assert none.empty
    assert list(none.columns) == list(found.columns)


def test_a_prediction_of_a_run_with_faster_tasks_names_their_prefix(world: World, live_server: Any) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    client = ObservatoryClient(live_server.url, secret)
    cluster = Simulated([*futures(60, 0.5), Task("last-1", 9)]).record()
    Membership.objects.create(project=cluster.project, user=world.people["viewer"])
    run = Run.objects.create(cluster=cluster, name="etl", origin="cut", start=at(0), stop=at(20))
    slow = client.prediction(run.pk, prefix="last", times_as_fast=0.5)
    assert (
        slow["seconds"] > client.prediction(run.pk)["seconds"] == pytest.approx(slow["stop"] - slow["start"])
    )
    with pytest.raises(ValueError, match="no tasks of the prefix 'absent'"):
        client.prediction(run.pk, prefix="absent", times_as_fast=2)
    with pytest.raises(ObservatoryError, match="workers"):
        client.prediction(run.pk, workers=0)


def test_who_may_not_see_a_run_gets_none_of_its_records(
    observed: Observed, world: World, live_server: Any
) -> None:
    _, secret = access_tokens.make(world.people["outsider"], "theirs", None)
    with pytest.raises(ObservatoryError, match="404"):
        ObservatoryClient(live_server.url, secret).spans(observed.run.pk)
    with pytest.raises(ObservatoryError, match="401: The access token is unknown"):
        ObservatoryClient(live_server.url, "obp_made-up").spans(observed.run.pk)


def test_where_nothing_answers_the_address_is_named() -> None:
    with pytest.raises(ObservatoryError, match=r"http://127\.0\.0\.1:9 can't be reached"):
        ObservatoryClient("http://127.0.0.1:9", "obp_x").clusters()
    with pytest.raises(ValueError, match="begins with http"):
        ObservatoryClient("file:///etc/passwd", "obp_x")


def test_the_client_needs_neither_django_nor_anything_else_of_ours() -> None:
    script = """
import sys, observatory.client
ours = {name for name in sys.modules if name.startswith("observatory.")}
print([name for name in ours if not name.startswith(("observatory.client", "observatory.wire"))])
print("django" in sys.modules)"""
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["[]", "False"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("span?column=nbytes&value=1", "column is 'nbytes': of texts there are worker"),
        ("span?mark=[1]", "mark is '[1]'"),
        ("span?mark=[99999999999999999999,0]", "mark is"),
        ("nothing", "kind is 'nothing': there are client_activity, computation"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    world: World, observed: Observed, query: str, words: str
) -> None:
    answer = world.client("viewer").get(f"/api/v1/runs/{observed.run.pk}/records/{query}")
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_an_answer_has_no_more_rows_than_its_limit(world: World, observed: Observed) -> None:
    viewer: Client = world.client("viewer")
    path = f"/api/v1/runs/{observed.run.pk}/records/transition"
    [block] = decode(viewer.get(f"{path}?limit=5").content)
    assert block.rows == 5
    assert block.meta["next"]
    assert viewer.get(f"{path}?limit={records_api.MOST_ROWS + 1}").status_code == 422
