"""Jobs of PBS, by variables and by the output of qstat -f, as its documentation has them."""

from __future__ import annotations

import time

import pytest

from observatory.agent.batch_systems.pbs import PBS
from observatory.agent.batch_systems.systems import job_of_process
from observatory.wire.batch_jobs import BatchJob

GIB = 2**30
IN_JOB = {
    "PBS_JOBID": "1234.pbs01",
    "PBS_JOBNAME": "dask-worker",
    "PBS_QUEUE": "workq",
    "PBS_O_QUEUE": "routing",
    "NCPUS": "4",
}
TIMES = {"queued": (2026, 11, 12, 13, 44, 10), "started": (2026, 11, 12, 13, 45, 0)}
QSTAT = """Job Id: 1234.pbs01
    Job_Name = dask-worker
    Job_Owner = me@login1
    job_state = R
    queue = workq
    ctime = Thu Nov 12 13:44:00 2026
    qtime = Thu Nov 12 13:44:10 2026
    stime = Thu Nov 12 13:45:00 2026
    Account_Name = physics
    Resource_List.mem = 6gb
    Resource_List.ncpus = 4
    Resource_List.nodect = 1
    Resource_List.select = 1:ncpus=4:mem=6GB
    Resource_List.walltime = 01:00:00
    Variable_List = PBS_O_HOME=/home/me,AWS_SECRET_ACCESS_KEY=s3cr3t,
\tResource_List.mem = 99gb,PBS_O_LANG=C
    run_count = 2
"""


def told(**variables: str) -> BatchJob:
    job = PBS.job({**IN_JOB, **variables})
    assert job is not None
    return job


def test_a_job_tells_where_it_runs() -> None:
    assert told() == BatchJob(
        system="pbs", id="1234.pbs01", site="pbs01", name="dask-worker", queue="workq", cores=4
    )


def test_qstat_tells_what_was_asked_and_how_long_it_waited() -> None:
    job = PBS.with_answer(told(), QSTAT)
    assert (job.memory, job.option, job.cores, job.nodes) == (6 * GIB, "mem", 4, 1)
    assert (job.time_limit, job.waited, job.account, job.restarts) == (3_600, 50, "physics", 1)
    assert job.started == time.mktime((*TIMES["started"], 0, 0, -1))
    assert "s3cr3t" not in str(job)


def test_torque_has_other_names_for_some_of_it() -> None:
    torque = {"PBS_JOBID": "77.server", "PBS_NUM_PPN": "8", "PBS_NUM_NODES": "2", "PBS_WALLTIME": "1800"}
    job = PBS.job(torque)
    assert job is not None
    assert (job.cores, job.nodes, job.time_limit) == (8, 2, 1_800)
    answer = QSTAT.replace("stime", "start_time").replace("nodect = 1", "nodect = 2")
    asked = PBS.with_answer(job, answer)
    assert (asked.waited, asked.memory) == (50, 3 * GIB), "a node has half of the job's memory"


def test_an_array_job_names_its_array() -> None:
    job = told(PBS_JOBID="1234[7].pbs01")
    assert (job.id, job.array) == ("1234[7].pbs01", "1234[].pbs01")


@pytest.mark.parametrize(
    "answer", ["", "qstat: Unknown Job Id 1234.pbs01", "    qtime = yesterday\n", "=" * 9_000]
)
def test_an_answer_that_is_none_leaves_it_unknown(answer: str) -> None:
    job = PBS.with_answer(told(), answer)
    assert (job.waited, job.memory, job.id) == (None, None, "1234.pbs01")


@pytest.mark.parametrize("id", ["", "-f", "$(reboot)", "12 34"])
def test_what_is_no_id_is_no_job(id: str) -> None:
    assert job_of_process({"PBS_JOBID": id}) is None
