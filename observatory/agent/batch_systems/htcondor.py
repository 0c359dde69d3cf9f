"""Jobs of HTCondor, by the files of their ClassAds.

Source: its manual on the environment of jobs, and on the attributes of job and machine ClassAds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from observatory.agent.batch_systems.amounts import MIB, bytes_of, count_of, seconds_of, wait_of
from observatory.agent.batch_systems.batch_system import BatchSystem
from observatory.wire.workers.batch_jobs import LONGEST, BatchJob

ATTRIBUTE = re.compile(r"^(\w{1,60}) = (.{0,1000})$", re.MULTILINE)
LONGEST_AD = 1_000_000
OF_JOB = (
    *("clusterid", "procid", "jobbatchname", "acctgroup", "requestcpus", "requestmemory", "qdate"),
    *("jobcurrentstartdate", "jobstartdate", "numjobstarts", "allowedjobduration", "globaljobid"),
    *("daskworkercores", "daskworkermemory"),
)
"""the attributes that are read: others have the variables of the user"""
OF_MACHINE = ("machine",)


class HTCondor(BatchSystem):
    name: ClassVar[str] = "htcondor"

    def job(self, environ: Mapping[str, str]) -> BatchJob | None:
        ad = _ad(environ.get("_CONDOR_JOB_AD", ""), OF_JOB)
        cluster, process = count_of(ad.get("clusterid", "")), count_of(ad.get("procid", ""))
        if cluster is None or process is None:
            return None
        started = seconds_of(ad.get("jobcurrentstartdate", "")) or seconds_of(ad.get("jobstartdate", ""))
        submitted = seconds_of(ad.get("qdate", ""))
        # an expression, which these attributes can be, is no amount; those of dask-jobqueue are of its own
        memory = bytes_of(ad.get("requestmemory", ""), MIB) or bytes_of(ad.get("daskworkermemory", ""))
        return BatchJob(
            system=self.name,
            id=f"{cluster}.{process}",
            restarts=max((count_of(ad.get("numjobstarts", "")) or 1) - 1, 0),
            array=str(cluster),
            site=ad.get("globaljobid", "").partition("#")[0],
            name=ad.get("jobbatchname", ""),
            account=ad.get("acctgroup", ""),
            node=_ad(environ.get("_CONDOR_MACHINE_AD", ""), OF_MACHINE).get("machine", ""),
            nodes=1,
            cores=count_of(ad.get("requestcpus", "")) or count_of(ad.get("daskworkercores", "")),
            memory=memory,
            option="request_memory" if memory else "",
            time_limit=seconds_of(ad.get("allowedjobduration", "")),
            started=started,
            waited=wait_of(submitted, started),
        )


def _ad(path: str, names: tuple[str, ...]) -> dict[str, str]:
    """The wanted attributes of a ClassAd's file, by their names in lower case; {} without one."""
    try:
        with Path(path).open(errors="replace") as file:
            text = file.read(LONGEST_AD)
    except (OSError, ValueError):
        return {}
    found = {name.lower(): value.strip().strip('"')[:LONGEST] for name, value in ATTRIBUTE.findall(text)}
    return {name: value for name, value in found.items() if name in names}


HTCONDOR = HTCondor()
