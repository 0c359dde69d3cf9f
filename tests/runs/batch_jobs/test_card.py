"""The batch jobs on the card of a run: what was asked, what was used, and what would have been enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from observatory.clusters.models import Cluster
from observatory.comparison.card.schemas import RunCard
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from observatory.store.maintenance.retention import delete_cluster
from tests.runs.batch_jobs.stored_jobs import GIB, MINUTE, START, make_run, slurm_job, store_worker
from tests.support.projects import HOSTILE, World
from tests.support.response_schemas import assert_documented

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster(transactional_db: None, world: World) -> Iterator[Cluster]:
    yield world.ended
    delete_cluster(world.ended.pk)


def card_of(world: World, run: Run) -> Any:
    card = world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    return card["batch_jobs"]


def page(world: World, run: Run) -> str:
    text = " ".join(world.client("viewer").get(f"/runs/{run.pk}/").content.decode().split())
    return text[text.find('<details class="run-card-jobs">') :]


def request_of(world: World, run: Run) -> Any:
    [request] = card_of(world, run)["requests"]
    return request


def test_a_job_has_what_it_asked_for_what_it_used_and_how_long_it_waited(
    world: World, cluster: Cluster
) -> None:
    store_worker(cluster, "w", slurm_job(), memory={**dict.fromkeys(range(120), 1.0), 50: 5.1}, cores=1.3)
    found = card_of(world, make_run(cluster))
    assert (found["count"], found["workers"]) == (1, 1)
    [job] = found["jobs"]
    asked = {name: job[name] for name in ("system", "id", "queue", "account", "hosts", "cores", "memory")}
    assert asked == {
        **{"system": "slurm", "id": "12", "queue": "short", "account": "physics", "hosts": ["node1"]},
        **{"cores": 4, "memory": 16 * GIB},
    }
    assert job["peak_memory"] == pytest.approx(5.1 * GIB)
    assert job["mean_cores"] == pytest.approx(1.3)
    assert (job["waited"], job["time_limit"], job["started"]) == (30, 3_600, START - 10)
    assert job["seconds"] == pytest.approx(130), "it held its cores for ten seconds before its worker came"


def test_less_is_recommended_so_that_no_worker_would_have_spilled(world: World, cluster: Cluster) -> None:
    """5.1 GiB of 16 don't spill. With a limit of 6 GiB the worker would have spilled at 4.2 GiB."""
    store_worker(cluster, "w", slurm_job(), memory=5.1, cores=1.3)
    run = make_run(cluster)
    request = request_of(world, run)
    assert request["verdict"] == "less"
    recommended = request["recommended"]
    assert recommended["memory"] == 7.5 * GIB, "of which 70 % are 5.25 GiB"
    assert (recommended["setting"], recommended["spills_at"]) == ("--mem=7680M", 0.7)
    assert recommended["margin"] == pytest.approx(7.5 / 5.1 - 1)
    assert "--mem=7680M would have been enough, peak 5.10 GiB of 16.0 GiB" in page(world, run)
    assert "47 % more, so that each worker stays below 70 % of its memory" in page(world, run)


def test_where_workers_never_spill_the_margin_alone_counts(world: World, cluster: Cluster) -> None:
    never = dict.fromkeys(
        (f"distributed.worker.memory.{name}" for name in ("target", "spill", "pause", "terminate")), False
    )
    store_worker(cluster, "w", slurm_job(), memory=5.1, thresholds=never)
    run = make_run(cluster)
    recommended = request_of(world, run)["recommended"]
    assert (recommended["setting"], recommended["spills_at"]) == ("--mem=6G", None)
    said = "--mem=6G</code> would have been enough</strong>: the peak was 5.10 GiB, and that is 18 % more."
    assert said in page(world, run)


def test_results_that_dask_manages_count_against_the_target(world: World, cluster: Cluster) -> None:
    store_worker(cluster, "w", slurm_job(), memory=5.1, managed=5.0)
    recommended = request_of(world, make_run(cluster))["recommended"]
    assert recommended["memory"] == 9 * GIB, "60 % of it are more than 5 GiB"


def test_workers_of_a_job_are_added_up_at_the_same_time(world: World, cluster: Cluster) -> None:
    """Two processes of 8 GiB each. They need 3 GiB each, but never at the same time."""
    first = {at: 3.0 if at < 60 else 1.0 for at in range(120)}
    second = {at: 1.0 if at < 60 else 3.0 for at in range(120)}
    store_worker(cluster, "w-0", slurm_job(), memory=first, limit=8, cores=0.5)
    store_worker(cluster, "w-1", slurm_job(), memory=second, limit=8, cores=0.7)
    request = request_of(world, make_run(cluster))
    assert (request["jobs"], request["workers"]) == (1, 2)
    assert request["peak_memory"] == pytest.approx(4 * GIB)
    assert request["mean_cores"] == pytest.approx(1.2)
    assert request["recommended"]["memory"] == 9 * GIB, "each of both has its half, and spills at 70 % of it"
    assert request["fewer_cores"] == 2


def test_jobs_that_asked_alike_have_one_recommendation_by_the_highest_peak(
    world: World, cluster: Cluster
) -> None:
    for number, memory in enumerate([2.0, 4.0, 3.0]):
        job = slurm_job(f"20_{number}", array="20", waited=30.0 * (number + 1))
        store_worker(cluster, f"w{number}", job, memory=memory)
    run = make_run(cluster)
    request = request_of(world, run)
    assert (request["jobs"], request["peak_job"]) == (3, "20_1")
    assert request["recommended"]["memory"] == 6 * GIB
    assert (request["waited"], request["longest_wait"], request["waits_known"]) == (60, 90, 3)
    assert "waited 1 min in the median, at most 1 min 30 s" in page(world, run)


def test_memory_that_was_asked_per_cpu_is_recommended_per_cpu(world: World, cluster: Cluster) -> None:
    store_worker(cluster, "w", slurm_job(option="--mem-per-cpu"), memory=4.0)
    assert request_of(world, make_run(cluster))["recommended"]["setting"] == "--mem-per-cpu=1536M"


def test_without_an_asked_amount_nothing_is_recommended(world: World, cluster: Cluster) -> None:
    store_worker(cluster, "w", slurm_job(memory=None, option=""), memory=4.0, cores=3.9)
    run = make_run(cluster)
    request = request_of(world, run)
    assert (request["verdict"], request["recommended"], request["fewer_cores"]) == ("not-asked", None, None)
    assert "asked for no certain amount of memory and 4 cores" in page(world, run)


@pytest.mark.parametrize(
    ("verdict", "stored"),
    [
        ("spilled", {"memory": 4.0, "spilled": 2.0}),
        ("fits", {"memory": 11.0}),
        ("short", {"memory": 2.0, "seconds": 30.0}),
        ("short", {"memory": dict.fromkeys(range(0, 120, 30), 2.0)}),
        ("unknown", {"memory": {}}),
    ],
    ids=["spilled", "needed", "too short", "too few samples", "no samples"],
)
def test_without_enough_evidence_nothing_is_recommended(
    verdict: str, stored: dict[str, Any], world: World, cluster: Cluster
) -> None:
    store_worker(cluster, "w", slurm_job(), cores=1.0, **stored)
    request = request_of(world, make_run(cluster, stored.get("seconds", 2 * MINUTE)))
    assert (request["verdict"], request["recommended"]) == (verdict, None)


def test_a_run_that_goes_on_has_its_peak_so_far(world: World, cluster: Cluster) -> None:
    store_worker(cluster, "w", slurm_job(), memory=2.0)
    run = make_run(cluster, is_open=True)
    assert request_of(world, run)["verdict"] == "running"
    assert "The peak is 2.00 GiB so far." in page(world, run)


def test_a_requeued_job_with_the_same_id_is_another_one(world: World, cluster: Cluster) -> None:
    store_worker(cluster, "a", slurm_job(), seconds=MINUTE)
    store_worker(cluster, "b", slurm_job(restarts=1, waited=None))
    run = make_run(cluster)
    jobs = card_of(world, run)["jobs"]
    assert {(job["id"], job["restarts"], job["waited"]) for job in jobs} == {("12", 0, 30), ("12", 1, None)}
    assert "requeued 1×" in page(world, run)


def test_a_job_on_two_nodes_has_the_amounts_of_a_node(world: World, cluster: Cluster) -> None:
    for number, memory in ((1, 2.0), (2, 3.0)):
        job = slurm_job(node=f"node{number}", nodes=2)
        store_worker(cluster, f"w{number}", job, memory=memory, host=f"node{number}")
    found = card_of(world, make_run(cluster))
    [job], [request] = found["jobs"], found["requests"]
    assert (job["nodes"], sorted(job["hosts"]), job["memory"]) == (2, ["node1", "node2"], 16 * GIB)
    assert (request["jobs"], request["nodes"]) == (1, 2)
    assert request["peak_memory"] == pytest.approx(3 * GIB)


def test_parts_of_a_heterogeneous_job_asked_for_different_amounts(world: World, cluster: Cluster) -> None:
    store_worker(cluster, "big", slurm_job(node="node1"), memory=4.0)
    store_worker(cluster, "small", slurm_job(node="node2", memory=2 * GIB), limit=2, host="node2")
    found = card_of(world, make_run(cluster))
    assert found["count"] == 1
    assert {request["memory"] for request in found["requests"]} == {16 * GIB, 2 * GIB}


def test_workers_outside_of_jobs_are_not_counted_among_theirs(world: World, cluster: Cluster) -> None:
    store_worker(cluster, "w", slurm_job(), memory=2.0)
    store_worker(cluster, "here", None, memory=9.0, host="login")
    run = make_run(cluster)
    found = card_of(world, run)
    assert (found["workers"], found["jobs"][0]["peak_memory"]) == (1, pytest.approx(2 * GIB))
    assert "1 job of Slurm, with 1 of 2 workers" in page(world, run)


def test_a_run_without_jobs_says_nothing_of_them(world: World, cluster: Cluster) -> None:
    store_worker(cluster, "here", None)
    run = make_run(cluster)
    assert card_of(world, run) is None
    assert page(world, run) == ">", "there is no such part"


def test_texts_of_a_job_are_escaped_and_a_public_link_has_none_of_them(
    world: World, cluster: Cluster
) -> None:
    store_worker(cluster, "w", slurm_job(name=HOSTILE, queue=HOSTILE, account=HOSTILE), memory=2.0)
    run = make_run(cluster)
    assert HOSTILE not in page(world, run)
    link = Permalink(run=run, audience=Permalink.Audience.ANYONE, shows_code=True, shows_logs=True)
    link = make_link(link, world.people["editor"])
    card = world.client("viewer").get(f"/api/v1/r/{link.token}/card").json()
    assert card.get("batch_jobs") is None
    assert "physics" not in world.client("viewer").get(f"/r/{link.token}/").content.decode()
