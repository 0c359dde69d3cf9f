"""Jobs of PBS, by variables and by the output of qstat -f, as its documentation has them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from observatory.agent.batch_systems.pbs import PBS
from observatory.agent.batch_systems.systems import job_of_process, with_queue
from observatory.wire.workers.batch_jobs import BatchJob

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
    obittime = Thu Nov 12 13:44:10 2026
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


OPENPBS = """Job Id: 7.pbsnode
    Job_Name = STDIN
    job_state = R
    queue = workq
    server = pbsnode
    Account_Name = physics
    ctime = Sun Nov 29 19:35:55 2026
    exec_vnode = (pbsnode:mem=307200kb:ncpus=1)
    qtime = Sun Nov 29 19:35:55 2026
    Resource_List.mem = 300mb
    Resource_List.ncpus = 1
    Resource_List.nodect = 1
    Resource_List.place = pack
    Resource_List.select = 1:mem=300mb:ncpus=1
    stime = Sun Nov 29 19:36:24 2026
    obittime = Sun Nov 29 19:36:20 2026
    substate = 42
    Variable_List = PBS_O_HOME=/root,PBS_O_LANG=C.UTF-8,
\tPBS_O_SYSTEM=Linux,NAMED=again,PBS_O_QUEUE=workq,PBS_O_HOST=pbsnode
    etime = Sun Nov 29 19:35:55 2026
    run_count = 2
    Submit_arguments = -v NAMED=again -l ncpus=1 -l mem=300mb -r y
    project = _pbs_project_default
"""
"""of OpenPBS 23.06, shortened: a job that ran from 19:35:55, was requeued at 19:36:20, and runs again"""


def test_the_wait_of_a_job_that_runs_again_began_when_it_had_ended_before() -> None:
    job = PBS.with_answer(told(PBS_JOBID="7.pbsnode"), OPENPBS)
    assert (job.restarts, job.waited, job.memory, job.account) == (1, 4, 300 * 2**20, "physics")
    earlier = OPENPBS.replace("    obittime = Sun Nov 29 19:36:20 2026\n", "")
    assert PBS.with_answer(told(), earlier).waited is None, "its submission says nothing of this wait"
    first = earlier.replace("run_count = 2", "run_count = 1")
    assert PBS.with_answer(told(), first).waited == 29


def test_qstat_is_found_where_the_configuration_of_pbs_says_that_it_is(tmp_path: Path) -> None:
    """A login shell of OpenPBS has it in PATH; /var/spool/pbs/pbs_environment says /bin:/usr/bin."""
    commands = tmp_path / "pbs/bin"
    commands.mkdir(parents=True)
    (commands / "qstat").write_text(f"#!/bin/sh\necho '{OPENPBS}'\n")
    (commands / "qstat").chmod(0o755)
    file = tmp_path / "pbs.conf"
    file.write_text(
        f"PBS_SERVER=pbsnode\nPBS_START_MOM=1\nPBS_EXEC={tmp_path}/pbs\nPBS_HOME=/var/spool/pbs\n"
    )
    environ = {**IN_JOB, "PATH": "/bin:/usr/bin", "PBS_CONF_FILE": str(file)}
    assert with_queue(PBS, told(), environ).memory == 300 * 2**20
    for wrong in ("PBS_EXEC=relative\n", "PBS_EXEC=\n", "\0" * 100, "PBS_EXEC=/none\n"):
        file.write_text(wrong)
        assert with_queue(PBS, told(), environ) == told()
    assert with_queue(PBS, told(), {**environ, "PBS_CONF_FILE": "/none"}) == told()


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
