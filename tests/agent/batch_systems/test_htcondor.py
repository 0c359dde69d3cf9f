"""Jobs of HTCondor, by the files of ClassAds that its documentation describes."""

from __future__ import annotations

from pathlib import Path

import pytest
from dask_jobqueue.htcondor import HTCondorJob

from observatory.agent.batch_systems.htcondor import HTCONDOR
from observatory.agent.batch_systems.systems import job_of_process
from observatory.wire.workers.batch_jobs import BatchJob

GIB = 2**30
JOB = """AcctGroup = "physics"
ClusterId = 88
Environment = "TOKEN=s3cr3t"
GlobalJobId = "submit.site.org#88.2#1700000000"
JobBatchName = "dask-worker"
JobCurrentStartDate = 1700000090
MyType = "Job"
NumJobStarts = 1
ProcId = 2
QDate = 1700000000
RequestCpus = 4
RequestMemory = 6144
"""
MACHINE = 'Cpus = 4\nMachine = "node7.site.org"\nMemory = 8192\n'


@pytest.fixture
def in_job(tmp_path: Path) -> dict[str, str]:
    (tmp_path / ".job.ad").write_text(JOB)
    (tmp_path / ".machine.ad").write_text(MACHINE)
    return {
        "_CONDOR_JOB_AD": str(tmp_path / ".job.ad"),
        "_CONDOR_MACHINE_AD": str(tmp_path / ".machine.ad"),
    }


def test_a_job_tells_where_it_runs_what_it_asked_for_and_how_long_it_waited(in_job: dict[str, str]) -> None:
    assert HTCONDOR.job(in_job) == BatchJob(
        system="htcondor",
        id="88.2",
        array="88",
        site="submit.site.org",
        name="dask-worker",
        account="physics",
        node="node7.site.org",
        nodes=1,
        cores=4,
        memory=6 * GIB,
        option="request_memory",
        started=1_700_000_090,
        waited=90,
    )


def test_it_is_the_job_although_its_pilot_runs_in_slurm(in_job: dict[str, str]) -> None:
    found = job_of_process({**in_job, "SLURM_JOB_ID": "7"})
    assert found is not None
    assert found[1].system == "htcondor"


def test_a_request_that_is_an_expression_is_no_amount(in_job: dict[str, str]) -> None:
    path = Path(in_job["_CONDOR_JOB_AD"])
    path.write_text(JOB.replace("RequestMemory = 6144", "RequestMemory = ifthenelse(x,1,2)"))
    job = HTCONDOR.job(in_job)
    assert job is not None
    assert (job.memory, job.option, job.cores) == (None, "", 4)


def test_a_job_as_dask_jobqueue_submits_it_asks_with_attributes_of_its_own(in_job: dict[str, str]) -> None:
    """Its requests are expressions, which the ClassAd of the job has as they were submitted."""
    submitted = HTCondorJob(name="dask", cores=4, memory="6GiB", disk="1GB").job_header_dict
    assert not str(submitted["RequestMemory"]).isdecimal()
    known = [line for line in JOB.splitlines() if not line.startswith("Request")]
    asked = [
        f"{name.removeprefix('MY.')} = {value}"
        for name, value in submitted.items()
        if name.startswith(("MY.Dask", "Request"))
    ]
    Path(in_job["_CONDOR_JOB_AD"]).write_text("\n".join(sorted([*known, *asked])) + "\n")
    job = HTCONDOR.job(in_job)
    assert job is not None
    assert (job.id, job.cores, job.memory, job.option) == ("88.2", 4, 6 * GIB, "request_memory")


@pytest.mark.parametrize("text", ["", "ClusterId = 88\n", "ClusterId = x\nProcId = 1\n", "\0" * 5_000])
def test_what_is_no_ad_is_no_job(text: str, in_job: dict[str, str]) -> None:
    Path(in_job["_CONDOR_JOB_AD"]).write_text(text)
    assert HTCONDOR.job(in_job) is None


def test_a_file_that_is_gone_is_no_job() -> None:
    assert job_of_process({"_CONDOR_JOB_AD": "/nonexistent/.job.ad"}) is None
    assert job_of_process({"_CONDOR_JOB_AD": "bad\0path"}) is None
