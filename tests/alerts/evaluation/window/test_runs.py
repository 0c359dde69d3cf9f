"""What conditions on runs say, judged on the runs that are stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import median
from typing import Any

import pytest

from observatory.alerts.evaluation.window.runs import judged_runs
from observatory.alerts.evaluation.window.state_machine import Firing
from observatory.alerts.rules.conditions import Comparison, Measure, RunCondition
from observatory.clusters.models import Cluster, Project
from observatory.runs.models import Run
from tests.alerts.evaluation.window.conftest import START, Fired, Stored, rule
from tests.support.projects import make_run
from tests.support.recorded_cluster import Recorded

DAY = 86_400


def usual(measure: Measure = Measure.DURATION, **changes: Any) -> RunCondition:
    """By 20 %, for ten minutes."""
    return RunCondition(measure, **{"window": 600.0, **changes})


def texts(fired: Fired) -> list[tuple[str, float, float | None, str]]:
    return [(name, firing.fired, firing.resolved, firing.text) for name, firing in fired]


def nights(cluster: Cluster, minutes: list[float], name: str = "nightly", **fields: Any) -> list[Run]:
    """Runs one hour apart."""
    return [
        make_run(cluster, name, at=60.0 * place, minutes=each, **fields) for place, each in enumerate(minutes)
    ]


def test_a_run_slower_than_the_median_of_earlier_ones_fires_from_its_end_for_the_window(
    stored: Stored,
) -> None:
    nights(stored.cluster, [10, 12, 8, 11, 12.7, 9])
    slower = rule(usual())
    stop = 4 * 3600 + 12.7 * 60
    said = "nightly took 12 min 42 s, usually 10 min 30 s"
    share = 12.7 / 10.5 - 1
    expected = [("run=nightly", Firing(stop, stop, stop + 600, pytest.approx(share), said))]
    assert stored.firings(slower, 0, DAY) == expected
    assert stored.firings(slower, 0, 4 * 3600, stop, stop + 1, stop + 599, DAY) == expected
    assert stored.firings(rule(usual(threshold=0.21)), 0, DAY) == []


def test_each_firing_is_that_of_an_independent_computation(stored: Stored) -> None:
    """Durations and peaks of forty runs of two names, in the order of a linear congruence."""
    number, made = 17, []
    for place in range(40):
        number = (number * 1103515245 + 12345) % 2**31
        minutes, name = 5 + number % 1000 / 100, "ab"[number // 1000 % 2]
        outcome = Run.Outcome.ERRED if number // 7 % 5 == 0 else Run.Outcome.FINISHED
        peak = float(number % 977)
        run = make_run(
            stored.cluster, name, 20 * place, minutes, outcome=outcome, figures={"peak_memory": peak}
        )
        made.append((name, 1200.0 * place, 1200.0 * place + minutes * 60, run, peak))
    for measure, index in ((Measure.DURATION, 2), (Measure.MEMORY, 4)):
        for threshold in (0.0, 0.2, 0.5):
            expected = []
            for place, (name, start, stop, _, peak) in enumerate(made):
                before = [
                    each[index] - (each[1] if index == 2 else 0)
                    for each in made[:place]
                    if each[0] == name and each[3].outcome == Run.Outcome.FINISHED
                ][-5:]
                value = stop - start if index == 2 else peak
                if len(before) >= 4 and value > median(before) * (1 + threshold):
                    later = [each[2] for each in made[place + 1 :] if each[0] == name]
                    end = min([stop + 2000, *later])
                    expected.append((f"run={name}", stop, end, value / median(before) - 1))
            found = stored.firings(
                rule(usual(measure, threshold=threshold, earlier=5, fewest=4, window=2000.0)), 0, 60_000, DAY
            )
            assert len(expected) > 1
            # a run after another one that fired, of the same name, goes on with its alert
            assert spans([(name, each.fired, each.resolved, each.value) for name, each in found]) == spans(
                expected
            )


def spans(firings: list[Any]) -> list[Any]:
    """Firings of a name that follow each other without a pause as one, with the first value."""
    joined: list[Any] = []
    for name, fired, resolved, value in sorted(firings, key=lambda each: (each[0], each[1])):
        if joined and joined[-1][0] == name and joined[-1][2] == pytest.approx(fired):
            joined[-1][2] = resolved
        else:
            joined.append([name, fired, resolved, value])
    return [
        (name, pytest.approx(fired), pytest.approx(resolved), pytest.approx(value))
        for name, fired, resolved, value in joined
    ]


def test_the_next_run_of_the_name_takes_the_place_of_the_one_before(stored: Stored) -> None:
    nights(stored.cluster, [10, 10, 10, 15, 10])
    slower = rule(usual(window=DAY))
    [(name, firing)] = stored.firings(slower, 0, DAY)
    assert (name, firing.fired, firing.resolved) == ("run=nightly", 3 * 3600 + 900, 4 * 3600 + 600)


def test_too_little_history_does_not_fire_and_says_so(stored: Stored) -> None:
    nights(stored.cluster, [10, 10, 50])
    assert stored.firings(rule(usual()), 0, DAY) == []
    assert [each.text for each in judged_runs(stored.data(0, DAY), usual())] == [
        "nightly: 0 earlier runs are known, 3 are needed",
        "nightly: 1 earlier run is known, 3 are needed",
        "nightly: 2 earlier runs are known, 3 are needed",
    ]
    assert len(stored.firings(rule(usual(fewest=2)), 0, DAY)) == 1


def test_only_finished_runs_of_the_name_and_project_that_ended_before_count(
    stored: Stored, another: Project
) -> None:
    cluster = stored.cluster
    times = {"started": cluster.started, "last_seen": cluster.started}
    elsewhere = Cluster.objects.create(project=another, scheduler_id="Scheduler-2", **times)
    same_project = Cluster.objects.create(project=cluster.project, scheduler_id="Scheduler-3", **times)
    for other in (elsewhere, same_project):
        nights(other, [10, 10, 10])
    for place, outcome in enumerate((Run.Outcome.ERRED, Run.Outcome.LOST)):
        make_run(cluster, "nightly", 240 + place, 1, outcome=outcome)
    make_run(cluster, "nightly", 250, None)
    make_run(same_project, "nightly", 251, 2000)
    make_run(cluster, "other", 260, 1)
    make_run(cluster, "nightly", 300, 15)
    [judged] = judged_runs(stored.data(299 * 60, DAY), usual())
    assert (judged.run.name, judged.value, judged.text) == (
        "nightly",
        pytest.approx(0.5),
        "nightly took 15 min, usually 10 min",
    )
    Run.objects.filter(cluster=same_project).delete()
    [alone] = judged_runs(stored.data(299 * 60, DAY), usual())
    assert alone.text == "nightly: 0 earlier runs are known, 3 are needed"


def test_a_pattern_selects_names(stored: Stored) -> None:
    for name in ("etl-a", "etl-b", "train"):
        nights(stored.cluster, [10, 10, 10, 15], name)
    fired = stored.firings(rule(usual(name="etl-*")), 0, DAY)
    assert [name for name, _ in fired] == ["run=etl-a", "run=etl-b"]


def test_a_run_can_be_less_than_usual(stored: Stored) -> None:
    for tasks in (100, 110, 90, 79, 10):
        at = 60 * Run.objects.filter(cluster=stored.cluster).count()
        make_run(stored.cluster, "nightly", at, 10, tasks=tasks)
    fewer = rule(usual(Measure.TASKS, comparison=Comparison.BELOW))
    said = [
        "nightly: number of tasks 79, usually 100",
        "nightly: number of tasks 10, usually 95",
    ]
    fired = stored.firings(fewer, 0, DAY)
    assert [firing.text for _, firing in fired] == said
    assert [firing.value for _, firing in fired] == [pytest.approx(0.21), pytest.approx(1 - 10 / 95)]


def test_what_was_never_there_is_far_more_than_usual(stored: Stored) -> None:
    nights(stored.cluster, [10, 10, 10], errors=0)
    make_run(stored.cluster, "nightly", 300, 10, errors=1, outcome=Run.Outcome.ERRED)
    [(_, firing)] = stored.firings(rule(usual(Measure.ERRORS)), 0, DAY)
    assert (firing.value, firing.text) == (1000, "nightly: number of errors 1, usually 0")


def test_a_run_is_judged_when_its_figures_are_counted(stored: Stored) -> None:
    *_, last = nights(stored.cluster, [10, 10, 10, 15])
    Run.objects.filter(pk=last.pk).update(counted=None)
    assert stored.firings(rule(usual()), 0, DAY) == []
    Run.objects.filter(pk=last.pk).update(counted=datetime.now().astimezone())
    assert len(stored.firings(rule(usual()), 0, DAY)) == 1


def test_conditions_on_runs_are_joined_by_name_and_with_the_cluster(stored: Stored) -> None:
    for tasks, minutes in ((100, 10), (100, 10), (100, 10), (200, 15), (100, 15)):
        at = 60 * Run.objects.filter(cluster=stored.cluster).count()
        make_run(stored.cluster, "nightly", at, minutes, tasks=tasks)
    as_many_tasks = usual(Measure.TASKS, comparison=Comparison.BELOW, threshold=-0.05)
    fired = stored.firings(rule(usual(), as_many_tasks), 0, DAY)
    assert [firing.fired for _, firing in fired] == [4 * 3600 + 900]


def error(recorded: Recorded, cluster: Cluster, minute: float, kind: str, key: str, **fields: Any) -> None:
    offset = cluster.started.timestamp() - START
    recorded.error(offset + minute * 60, key, kind, "failed", **fields)


@pytest.fixture
def recorded(stored: Stored) -> Recorded:
    return Recorded(stored.connection, stored.cluster.pk)


def test_errors_that_earlier_runs_did_not_have_fire(stored: Stored, recorded: Recorded) -> None:
    nights(stored.cluster, [10, 10, 10, 10], errors=1, outcome=Run.Outcome.ERRED)
    make_run(stored.cluster, "nightly", 240, 10, errors=0)
    for night in range(4):
        error(recorded, stored.cluster, 60 * night + 5, "ValueError", "load-1")
    error(recorded, stored.cluster, 185, "KeyError", "load-2")
    error(recorded, stored.cluster, 186, "ValueError", "store-1", prefix="store")
    error(recorded, stored.cluster, 187, "OSError", "load-3", outcome="retried")
    error(recorded, stored.cluster, 191, "OSError", "load-3")
    new = rule(usual(Measure.NEW_ERRORS))
    stop = 3 * 3600 + 600
    said = "nightly: KeyError in load, ValueError in store, not in the last 3 runs"
    assert stored.firings(new, 0, DAY) == [("run=nightly", Firing(stop, stop, stop + 600, 2, said))]
    [*_, last] = judged_runs(stored.data(0, DAY), usual(Measure.NEW_ERRORS))
    assert (last.value, last.text) == (0, "nightly: no error that the last 4 runs didn't have")


def test_runs_whose_errors_are_no_longer_stored_are_not_known(stored: Stored, recorded: Recorded) -> None:
    nights(stored.cluster, [10, 10, 10], errors=3, outcome=Run.Outcome.ERRED)
    make_run(stored.cluster, "nightly", 180, 10, errors=1, outcome=Run.Outcome.ERRED)
    error(recorded, stored.cluster, 185, "KeyError", "load-2")
    [*_, last] = judged_runs(stored.data(0, DAY), usual(Measure.NEW_ERRORS))
    assert last.text == "nightly: 0 earlier runs are known, 3 are needed"
    assert stored.firings(rule(usual(Measure.NEW_ERRORS)), 0, DAY) == []


@pytest.fixture
def another(stored: Stored) -> Project:
    return Project.objects.create(name="another", slug="another")


def test_many_runs_need_few_queries(stored: Stored, django_assert_max_num_queries: Any) -> None:
    start = stored.cluster.started
    Run.objects.bulk_create(
        Run(
            cluster=stored.cluster,
            name=f"run {place % 7}",
            start=start + timedelta(seconds=20 * place),
            stop=start + timedelta(seconds=20 * place + 10),
            outcome=Run.Outcome.FINISHED,
            origin=Run.Origin.FOUND,
            counted=start,
        )
        for place in range(200)
    )
    with django_assert_max_num_queries(6):
        assert len(judged_runs(stored.data(0, DAY), usual())) == 200
