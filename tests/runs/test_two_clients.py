"""Two clients work on one cluster at the same time, each in a run: a run owns what its client submitted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster, get_client

import observatory.agent
from observatory.alerts.evaluation.evaluator import evaluate
from observatory.alerts.models import Alert, Condition
from observatory.alerts.rules.conditions import By, Measure
from observatory.alerts.rules.events import TASK_ERRED
from observatory.alerts.web.fired import fired_in
from observatory.alerts.web.flags import flags_of_runs
from observatory.clusters.models import Project
from observatory.comparison.run_summary import summarize
from observatory.runs.errors.counting import count_errors_of_run
from observatory.runs.models import Permalink, Run, RunFindings
from observatory.runs.refresh import refresh_figures
from observatory.runs.sharing.links import make_link
from observatory.runs.usage.counting import count_runs
from observatory.runs.usage.prices import cost_of_run
from observatory.store.connection import connect, read_connection
from observatory.why.findings.of_runs import look_at
from observatory.wire.records import Action
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.runs.recorded_runs import CLUSTER, stored_runs
from tests.support.projects import World
from tests.support.stored_alerts import make_rule

pytestmark = pytest.mark.django_db(transaction=True)

OURS, THEIRS = 24, 40


def functions() -> tuple[Callable[..., Any], ...]:
    """By value: workers can't import a module that needs Django."""

    def pause(name: str, seconds: float) -> str:
        time.sleep(seconds)
        return name

    def fail() -> None:
        raise ValueError("of the other client")

    def submit_more(names: list[str]) -> list[str]:
        """A task that submits tasks."""
        client = get_client()
        found: list[str] = client.gather(client.map(pause, names, [0.02] * len(names)))
        return found

    return pause, fail, submit_more


@pytest.fixture(scope="module")
def recorded() -> FakeServer:
    """Both clients submit tasks of the same group, and one of the other's runs when our run ends."""
    pause, fail, submit_more = functions()
    with fake_server() as received:
        with (
            LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as made,
            DaskClient(made) as our_client,
            DaskClient(made) as their_client,
        ):
            observatory.agent.register(
                our_client, url=received.url, token=TOKEN, name=CLUSTER, flush_interval="0.5s"
            )
            with observatory.run("theirs", client=their_client):
                theirs = their_client.map(pause, [f"theirs {n}" for n in range(THEIRS)], [0.3] * THEIRS)
                failed = their_client.submit(fail)
                with observatory.run("ours", client=our_client):
                    ours = our_client.map(
                        pause, [f"ours {n}" for n in range(OURS)], [0.05] * OURS, priority=10
                    )
                    more = our_client.submit(submit_more, ["more 1", "more 2"], priority=10)
                    our_client.gather([*ours, more])
                    assert isinstance(failed.exception(), ValueError)
                    assert any(future.status == "pending" for future in theirs)
                their_client.gather(theirs)
        return received


@pytest.fixture
def runs(transactional_db: None, world: World, recorded: FakeServer) -> Iterator[dict[str, Run]]:
    with stored_runs(recorded, world.alpha) as runs:
        yield runs


def computed(recorded: FakeServer) -> list[dict[str, Any]]:
    return [row for row in recorded.rows["span"] if row["action"] == Action.COMPUTE]


def is_ours(recorded: FakeServer, row: dict[str, Any]) -> bool:
    """By who submitted the task with this key, as the scheduler was told."""
    return row["key"] in {task["key"] for task in tasks_of(recorded, "ours")}


def tasks_of(recorded: FakeServer, name: str) -> list[dict[str, Any]]:
    [opened] = {row["run"] for row in recorded.rows["run"] if row["name"] == name}
    events = [row["detail"] for row in recorded.rows["event"] if row["kind"] == "client-described"]
    [client] = [detail["client"] for detail in events if detail["run"] == opened]
    graphs = {row["time"] for row in recorded.rows["computation"] if row["client"] == client}
    return [row for row in recorded.rows["task"] if row["time"] in graphs]


def test_what_the_other_client_computed_is_not_counted(recorded: FakeServer, runs: dict[str, Run]) -> None:
    ours, theirs = runs["ours"], runs["theirs"]
    # with the task that submits two, and these, whose client is a worker's
    assert ours.tasks == OURS + 3
    # of unknown origin are the two that a task submitted: they count for both
    assert theirs.tasks == THEIRS + 1 + 2
    assert theirs.figures["other_tasks"] == OURS + 1
    stop = ours.stop.timestamp() if ours.stop else 0.0
    of_others = [
        row
        for row in computed(recorded)
        if ours.start.timestamp() < row["stop"] <= stop
        and row["key"] in {task["key"] for task in tasks_of(recorded, "theirs")}
    ]
    assert ours.figures["other_tasks"] == len(of_others) > 0
    assert {prefix["name"]: prefix["tasks"] for prefix in ours.contents["prefixes"]} == {
        "pause": OURS + 2,
        "submit_more": 1,
    }
    with connect() as connection:
        assert summarize(connection, ours).prefixes["pause"].count == OURS + 2


def test_a_run_is_not_with_errors_because_another_clients_task_failed(runs: dict[str, Run]) -> None:
    assert (runs["ours"].outcome, runs["ours"].errors) == ("finished", 0)
    assert (runs["theirs"].outcome, runs["theirs"].errors) == ("erred", 1)
    for name, count in (("ours", 0), ("theirs", 1)):
        count_errors_of_run(runs[name])
        assert runs[name].error_kinds.count() == count
        look_at(runs[name])
        found = RunFindings.objects.get(run=runs[name])
        assert any(one["kind"] == "failure" for one in found.all) == bool(count)
        assert "of the other client" not in found.sentence or count


def test_its_end_is_not_moved_to_that_of_the_other_clients_task(
    recorded: FakeServer, runs: dict[str, Run]
) -> None:
    ended = next(row for row in recorded.rows["run"] if (row["name"], row["outcome"]) == ("ours", "finished"))
    last = max(row["stop"] for row in computed(recorded) if is_ours(recorded, row))
    stop = runs["ours"].stop
    assert stop is not None
    assert stop.timestamp() == pytest.approx(max(ended["time"], last), abs=0.11)


def test_what_others_computed_is_a_kind_of_its_own_in_the_time_of_the_threads(
    world: World, recorded: FakeServer, runs: dict[str, Run]
) -> None:
    run = runs["ours"]
    answer = world.client("viewer").get(f"/api/v1/runs/{run.pk}/timeline/thread-times").json()
    seconds = {kind["kind"]: kind["seconds"] for kind in answer["kinds"]}
    assert seconds["other-runs"] == pytest.approx(run.figures["other_seconds"], rel=0.05, abs=0.1)
    assert seconds["computing"] == pytest.approx(run.figures["seconds"]["compute"], rel=0.05, abs=0.1)
    assert sum(seconds.values()) == pytest.approx(run.figures["lane_seconds"], rel=0.01)
    times = {
        time["name"]: time
        for time in world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()["times"]
    }
    assert times["others"]["seconds"] == pytest.approx(run.figures["other_seconds"])
    assert sum(time["share"] for time in times.values()) == pytest.approx(1)


def test_its_cost_is_without_the_time_that_threads_computed_for_others(runs: dict[str, Run]) -> None:
    run = runs["ours"]
    Project.objects.update(thread_hour_price=3600)
    run.cluster.project.refresh_from_db()
    cost = cost_of_run(run)
    assert cost is not None
    assert cost["amount"] == pytest.approx(run.figures["lane_seconds"] - run.figures["other_seconds"])
    count_runs()
    day = run.usage.get()
    assert (day.thread_seconds, day.tasks) == (pytest.approx(cost["thread_seconds"]), OURS + 3)


def test_that_the_other_client_took_threads_that_its_tasks_waited_for_is_a_finding(
    runs: dict[str, Run],
) -> None:
    look_at(runs["ours"])
    [found] = [one for one in RunFindings.objects.get(run=runs["ours"]).all if one["kind"] == "other-runs"]
    assert 1.0 < found["thread_seconds"] <= runs["ours"].figures["other_seconds"] * 1.05
    assert found["wall_seconds"] == pytest.approx(found["thread_seconds"] / 4, abs=0.01)


def test_without_the_clients_name_all_tasks_count(runs: dict[str, Run]) -> None:
    """As those of a stock recording, and of a run that was cut by hand."""
    run = runs["ours"]
    run.code_id = None
    run.origin = Run.Origin.CUT
    refresh_figures(run)
    assert run.tasks > OURS + 3
    assert run.errors == 1


def test_a_link_shows_no_errors_of_the_other_client(world: World, runs: dict[str, Run]) -> None:
    author, pages = world.people["owner"], {}
    for name, run in runs.items():
        link = make_link(Permalink(run=run, audience="anyone", shows_tracebacks=True), author)
        pages[name] = world.client("anonymous").get(f"/r/{link.token}/errors").content.decode()
    assert "of the other client" in pages["theirs"]
    assert "of the other client" not in pages["ours"]
    assert "ValueError" not in pages["ours"]


def test_alerts_on_failures_and_new_errors_are_about_the_run_of_the_failed_tasks(
    world: World, runs: dict[str, Run]
) -> None:
    earlier = runs["ours"].start - timedelta(hours=1)
    on_errors = {"kind": Condition.Kind.EVENT, "event": TASK_ERRED.name, "by": By.CLUSTER}
    make_rule("Task errors", changed=earlier).conditions.create(**on_errors, window_seconds=300)
    on_others = {**on_errors, "window_seconds": 300, "pattern": "of nobody"}
    make_rule("Other error", changed=earlier).conditions.create(**on_others)
    new_errors = {"kind": Condition.Kind.RUN, "measure": Measure.NEW_ERRORS, "fewest_runs": 0}
    make_rule("New errors", changed=earlier).conditions.create(**new_errors, threshold=0)
    with read_connection() as asked:
        evaluate(asked, [runs["ours"].cluster], time.time() + 60)
    assert Alert.objects.filter(fired__isnull=False).count() == 2
    author = world.people["owner"]
    for name, expected in (("ours", set()), ("theirs", {"Task errors", "New errors"})):
        run = runs[name]
        assert {fired.flag.name for fired in fired_in(run)} == expected
        assert {flag.name for flag in flags_of_runs([run.pk]).get(run.pk, [])} == expected
        url = f"/api/v1/runs/{run.pk}/timeline/alerts"
        shown = {alert["rule"] for alert in world.client("viewer").get(url).json()["alerts"]}
        # one about its end begins with it
        assert shown - {"New errors"} == expected - {"New errors"}
        link = make_link(Permalink(run=run, audience="anyone"), author)
        page = world.client("anonymous").get(f"/r/{link.token}").content.decode()
        assert ("Task errors" in page) == bool(expected)


def test_the_page_of_a_runs_errors_leaves_those_of_the_other_client_out_and_says_so(
    world: World, runs: dict[str, Run]
) -> None:
    viewer, shown = world.client("viewer"), {}
    for name, run in runs.items():
        page = viewer.get(f"/runs/{run.pk}/").content.decode()
        [url] = set(re.findall(r'href="(/clusters/\d+/errors/\?run=[^"]*)"', page))
        shown[name] = viewer.get(url.replace("&amp;", "&")).content.decode()
    assert "of the other client" in shown["theirs"]
    assert "of the other client" not in shown["ours"]
    assert "are left out" in shown["ours"]
    [every] = re.findall(r'href="([^"]*)">Show all errors of this time', shown["ours"])
    path = f"/clusters/{runs['ours'].cluster_id}/errors/"
    assert "of the other client" in viewer.get(path + every.replace("&amp;", "&")).content.decode()
    for odd in ("x", "-1", "9" * 18, "9" * 30, str(world.run.pk)):
        assert "of the other client" in viewer.get(path, {"run": odd}).content.decode()


def test_path_and_threads_agree_on_the_tasks_of_other_runs(world: World, runs: dict[str, Run]) -> None:
    url = f"/api/v1/runs/{runs['ours'].pk}/timeline"
    path = world.client("viewer").get(f"{url}/critical-path").json()
    kinds = {kind["kind"]: kind["seconds"] for kind in path["kinds"]}
    assert kinds["other-runs"] > 0
    threads = world.client("viewer").get(f"{url}/thread-times").json()
    busy = {kind["kind"]: kind["seconds"] for kind in threads["kinds"]}
    for kind in busy:
        # no more on the path than threads were in it, but for what the clocks allow; what the client did
        # while the other's tasks had all threads is the other's in the threads
        most = busy[kind] + (busy["other-runs"] if kind.startswith("client") else 0)
        assert kinds.get(kind, 0) <= most + 0.02 * (path["stop"] - path["start"]) + 0.1, kind


def test_prefixes_of_which_only_the_other_client_submitted_tasks_are_told(
    world: World, runs: dict[str, Run]
) -> None:
    def is_other(timeline: str) -> dict[str, bool]:
        lanes = world.client("viewer").get(f"/api/v1/{timeline}/lanes").json()
        return {prefix["name"]: prefix["is_other"] for prefix in lanes["prefixes"]}

    of_ours, of_theirs = (is_other(f"runs/{runs[name].pk}/timeline") for name in ("ours", "theirs"))
    assert of_ours == {"pause": False, "submit_more": False, "fail": True}
    assert of_theirs == {"pause": False, "submit_more": True, "fail": False}
    assert set(is_other(f"clusters/{runs['ours'].cluster_id}").values()) == {False}
