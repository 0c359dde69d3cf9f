"""Jobs of Slurm, by the variables that Slurm 22.05 sets (recorded), and those of its newer documentation."""

from __future__ import annotations

import pytest

from observatory.agent.batch_systems.slurm import SLURM
from observatory.agent.batch_systems.systems import job_of_process
from observatory.wire.workers.batch_jobs import BATCH_JOB, LONGEST, BatchJob, read_batch_job

GIB, MIB = 2**30, 2**20
IN_JOB = {
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NAME": "dask-worker",
    "SLURM_JOB_PARTITION": "short",
    "SLURM_JOB_ACCOUNT": "physics",
    "SLURM_CLUSTER_NAME": "alps",
    "SLURMD_NODENAME": "node7",
    "SLURM_JOB_NUM_NODES": "1",
    "SLURM_CPUS_ON_NODE": "4",
    "SLURM_MEM_PER_NODE": "6144",
}


def told(**variables: str) -> BatchJob:
    job = SLURM.job({**IN_JOB, **variables})
    assert job is not None
    return job


def test_a_job_tells_where_it_runs_and_what_it_asked_for() -> None:
    assert told() == BatchJob(
        system="slurm",
        id="4711",
        site="alps",
        name="dask-worker",
        queue="short",
        account="physics",
        node="node7",
        nodes=1,
        cores=4,
        memory=6 * GIB,
        option="--mem",
    )


def test_outside_of_a_job_there_is_none() -> None:
    assert job_of_process({"PATH": "/bin", "SLURM_CONF": "/etc/slurm.conf"}) is None


def test_an_array_job_has_the_id_that_squeue_shows() -> None:
    job = told(SLURM_ARRAY_JOB_ID="4700", SLURM_ARRAY_TASK_ID="11")
    assert (job.id, job.array) == ("4700_11", "4700")


@pytest.mark.parametrize(
    ("variables", "memory", "option"),
    [
        ({"SLURM_MEM_PER_CPU": "300"}, 4 * 300 * MIB, "--mem-per-cpu"),
        ({"SLURM_MEM_PER_GPU": "1024", "SLURM_GPUS_ON_NODE": "2"}, 2 * GIB, "--mem-per-gpu"),
        ({}, None, ""),
        ({"SLURM_MEM_PER_NODE": "0"}, None, ""),
        ({"SLURM_MEM_PER_NODE": "garbage"}, None, ""),
        ({"SLURM_MEM_PER_NODE": "-5"}, None, ""),
        ({"SLURM_MEM_PER_NODE": "9" * 400}, None, ""),
        ({"SLURM_MEM_PER_NODE": "6144", "SLURM_MEM_PER_CPU": "300"}, None, ""),
    ],
    ids=[
        "per CPU",
        "per GPU",
        "not asked",
        "all of the node",
        "garbage",
        "negative",
        "absurd",
        "of two jobs",
    ],
)
def test_memory_is_that_of_the_node_however_it_was_asked(
    variables: dict[str, str], memory: int | None, option: str
) -> None:
    without = {name: value for name, value in IN_JOB.items() if name != "SLURM_MEM_PER_NODE"}
    job = SLURM.job({**without, **variables})
    assert job is not None
    assert (job.memory, job.option) == (memory, option)


def test_a_requeued_job_keeps_its_id_and_counts() -> None:
    assert told(SLURM_RESTART_COUNT="2").restarts == 2


def test_slurm_23_tells_start_and_time_limit_by_itself() -> None:
    job = told(SLURM_JOB_START_TIME="1700000000", SLURM_JOB_END_TIME="1700003600")
    assert (job.started, job.time_limit, job.waited) == (1_700_000_000, 3_600, None)


@pytest.mark.parametrize(
    ("answer", "waited", "limit"),
    [
        ("1699999900|1700000000|5:00\n", 100, 300),
        ("1699999900|1700000000|1-02:00:00\n", 100, 93_600),
        ("1700000000|1700000000|UNLIMITED\n", 0, None),
        ("1700000001|1700000000|5:00\n", None, 300),
        ("2023-11-14T22:13:20|N/A|5:00\n", None, 300),
        ("", None, None),
        ("slurm_load_jobs error: Unable to contact slurm controller", None, None),
        ("|" * 10_000, None, None),
    ],
)
def test_squeue_tells_how_long_it_waited(answer: str, waited: float | None, limit: float | None) -> None:
    job = SLURM.with_answer(told(), answer)
    assert (job.waited, job.time_limit) == (waited, limit)


def test_squeue_is_asked_for_this_job_alone_and_without_peoples_filters() -> None:
    environ = {**IN_JOB, "SQUEUE_STATES": "PD", "HOME": "/home/me"}
    assert "--jobs=4711" in SLURM.command(environ)
    assert SLURM.environ_of_command(environ) == {
        **IN_JOB,
        **{"HOME": "/home/me", "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"},
    }


def test_bad_values_leave_out_what_they_are_of_and_nothing_else() -> None:
    job = told(SLURM_CPUS_ON_NODE="4(x2)", SLURM_JOB_NAME="x" * 9_000, SLURM_RESTART_COUNT="no")
    assert (job.cores, job.restarts, job.memory, job.queue) == (None, 0, 6 * GIB, "short")
    assert len(job.name) == LONGEST
    assert SLURM.job({**IN_JOB, "SLURM_JOB_ID": "1; rm -rf /"}) is None


def test_a_job_is_the_same_after_its_way_through_a_workers_detail() -> None:
    job = SLURM.with_answer(told(SLURM_RESTART_COUNT="1"), "1699999900|1700000000|5:00")
    assert read_batch_job({BATCH_JOB: job.detail()}) == job


@pytest.mark.parametrize(
    "detail",
    [
        *(None, [], {BATCH_JOB: 7}, {BATCH_JOB: {"system": "slurm"}}, {BATCH_JOB: {"system": 1, "id": "2"}}),
        {BATCH_JOB: {"system": "", "id": ""}},
    ],
)
def test_a_detail_without_a_job_has_none(detail: object) -> None:
    assert read_batch_job(detail) is None


def test_what_cannot_be_is_left_out_of_a_told_job() -> None:
    bad = {"memory": "6", "cores": float("nan"), "nodes": True, "waited": -1, "started": 1e300, "name": ["x"]}
    told = {BATCH_JOB: {"system": "slurm", "id": "1\0\x1b", **bad}}
    assert read_batch_job(told) == BatchJob("slurm", "1��")
