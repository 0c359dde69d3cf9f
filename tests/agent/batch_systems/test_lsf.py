"""Jobs of LSF, by variables and by the output of bjobs, as its documentation has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from dask_jobqueue.lsf import LSFJob

from observatory.agent.batch_systems.lsf import LSF
from observatory.agent.batch_systems.systems import job_of_process
from observatory.wire.workers.batch_jobs import BatchJob

GIB, MIB = 2**30, 2**20
IN_JOB = {
    "LSB_JOBID": "5150",
    "LSB_JOBINDEX": "0",
    "LSB_JOBNAME": "dask-worker",
    "LSB_QUEUE": "normal",
    "LSB_PROJECT_NAME": "physics",
    "LSB_MCPU_HOSTS": "hosta 4 hostb 2",
    "LSF_HOSTNAME": "hostb.site.org",
    "LSB_EFFECTIVE_RSRCREQ": "select[type == local] order[r15s:pg] rusage[mem=6144.00] span[hosts=1]",
}


def told(**variables: str) -> BatchJob:
    job = LSF.job({**IN_JOB, **variables})
    assert job is not None
    return job


def test_a_job_tells_where_it_runs_and_what_it_asked_for() -> None:
    assert told() == BatchJob(
        system="lsf",
        id="5150",
        name="dask-worker",
        queue="normal",
        account="physics",
        node="hostb",
        nodes=2,
        cores=2,
        memory=6 * GIB,
        option="rusage[mem]",
    )


def test_an_element_of_an_array_has_its_index() -> None:
    job = told(LSB_JOBINDEX="3")
    assert (job.id, job.array) == ("5150[3]", "5150")
    assert LSF.command({**IN_JOB, "LSB_JOBINDEX": "3"})[-1] == "5150[3]"


@pytest.mark.parametrize(
    ("line", "memory"),
    [
        ("LSF_UNIT_FOR_LIMITS=GB", 2 * 2**30),
        ("  LSF_UNIT_FOR_LIMITS = KB", 2 * 2**10),
        ("# LSF_UNIT_FOR_LIMITS=GB", 2 * 2**20),
        ("", 2 * 2**20),
    ],
)
def test_plain_numbers_are_in_the_unit_of_the_site(line: str, memory: int, tmp_path: Path) -> None:
    (tmp_path / "lsf.conf").write_text(f"LSF_TOP=/opt/lsf\n{line}\n")
    job = told(LSF_ENVDIR=str(tmp_path), LSB_EFFECTIVE_RSRCREQ="rusage[mem=2]")
    assert job.memory == memory


def test_a_unit_that_the_request_has_counts() -> None:
    assert told(LSB_EFFECTIVE_RSRCREQ="rusage[ngpus=1,mem=6GB:duration=1]").memory == 6 * GIB


def test_the_limit_of_the_control_group_is_exact() -> None:
    job = told(LSB_CG_MEMLIMIT="0x180000000")
    assert (job.memory, job.option) == (6 * GIB, "-M")


@pytest.mark.parametrize(
    ("answer", "waited", "limit"),
    [
        ("42|60.0/hosta|6 Gbytes\n", 42, 3_600),
        ("42|60.0/hosta\n", 42, 3_600),
        ("0|-|-\n", 0, None),
        ("Job <5150> is not found", None, None),
        ("", None, None),
    ],
)
def test_bjobs_tells_how_long_it_waited(answer: str, waited: float | None, limit: float | None) -> None:
    job = LSF.with_answer(told(), answer)
    assert (job.waited, job.time_limit) == (waited, limit)


@pytest.mark.parametrize(
    ("shown", "memory"),
    [("6 Gbytes", 6 * GIB), ("6.00G", 6 * GIB), ("6144 MB", 6 * GIB), ("-", None), ("lots", None)],
)
def test_a_job_as_dask_jobqueue_submits_it_asks_with_its_memory_limit(shown: str, memory: int | None) -> None:
    """Its script has `-M` and no `rusage`."""
    script = LSFJob(name="dask", cores=2, memory="6GB", lsf_units="mb", queue="normal").job_script()
    assert "#BSUB -M 6000" in script
    assert "rusage" not in script
    job = told(LSB_EFFECTIVE_RSRCREQ="select[type == local] span[hosts=1]", LSB_MCPU_HOSTS="hostb 2")
    assert (job.memory, job.cores) == (None, 2)
    found = LSF.with_answer(job, f"42|60.0/hosta|{shown}\n")
    assert (found.memory, found.option) == (memory, "-M" if memory else "")
    reserved = told(LSB_MCPU_HOSTS="hostb 2")
    assert LSF.with_answer(reserved, f"42|-|{shown}\n").option == "rusage[mem]", "known before"
    several = told(LSB_EFFECTIVE_RSRCREQ="")
    assert LSF.with_answer(several, f"42|-|{shown}\n").memory is None, "the limit isn't that of one host"


def test_what_is_no_id_is_no_job() -> None:
    assert job_of_process({"LSB_JOBID": "none"}) is None
    assert told(LSB_EFFECTIVE_RSRCREQ="rusage[mem=lots]", LSB_MCPU_HOSTS="hosta").memory is None
