"""Jobs of OpenPBS, PBS Professional and Torque, by their environment and qstat.

Source: man qsub, qstat, pbs_job_attributes and pbs_resources.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate
from pathlib import Path
from typing import ClassVar

from observatory.agent.batch_systems.amounts import bytes_of, count_of, duration_of, text_of, wait_of
from observatory.agent.batch_systems.batch_system import BatchSystem
from observatory.wire.workers.batch_jobs import LONGEST, BatchJob

ID = re.compile(r"\d{1,18}(\[\d*\])?(\.[\w.-]{1,150})?")
ATTRIBUTE = re.compile(r"^    ([A-Za-z_.]+) = (.*)$", re.MULTILINE)
CONFIGURATION = "/etc/pbs.conf"
LONGEST_CONFIGURATION = 64 * 2**10
INSTALLED = re.compile(r"^PBS_EXEC=(/[^\s:]{1,300})$", re.MULTILINE)
READ = (
    *("qtime", "ctime", "stime", "start_time", "obittime", "Account_Name", "run_count"),
    *("Resource_List.mem", "Resource_List.ncpus", "Resource_List.nodect", "Resource_List.walltime"),
)
"""the attributes that are read: others have the variables of the user"""


class Pbs(BatchSystem):
    name: ClassVar[str] = "pbs"

    def job(self, environ: Mapping[str, str]) -> BatchJob | None:
        id = text_of(environ, "PBS_JOBID")
        if not ID.fullmatch(id):
            return None
        number, _, server = id.partition(".")
        return BatchJob(
            system=self.name,
            id=id,
            array=re.sub(r"\[\d+\]", "[]", id) if "[" in number else "",
            site=server,
            name=text_of(environ, "PBS_JOBNAME"),
            queue=text_of(environ, "PBS_QUEUE", "PBS_O_QUEUE"),
            account=text_of(environ, "PBS_ACCOUNT"),
            nodes=count_of(environ.get("PBS_NUM_NODES", "")),
            # of PBS Professional; of Torque
            cores=count_of(environ.get("NCPUS", "")) or count_of(environ.get("PBS_NUM_PPN", "")),
            time_limit=duration_of(environ.get("PBS_WALLTIME", "")),
        )

    def command(self, environ: Mapping[str, str]) -> Sequence[str]:
        return "qstat", "-f", text_of(environ, "PBS_JOBID")

    def folders(self, environ: Mapping[str, str]) -> Sequence[str]:
        """Login shells have it in PATH, as /etc/profile.d says; workers in containers and others have not."""
        return _installed(environ.get("PBS_CONF_FILE") or CONFIGURATION)

    def with_answer(self, job: BatchJob, answer: str) -> BatchJob:
        told = {name: value.strip() for name, value in ATTRIBUTE.findall(answer) if name in READ}
        restarts = max((count_of(told.get("run_count", "")) or 1) - 1, 0)
        queued = _queued(told, restarts)
        started = _time(told.get("stime", "")) or _time(told.get("start_time", ""))
        nodes = count_of(told.get("Resource_List.nodect", "")) or job.nodes or 1
        memory = bytes_of(told.get("Resource_List.mem", ""))
        cores = count_of(told.get("Resource_List.ncpus", ""))
        return replace(
            job,
            nodes=nodes,
            # of the whole job, whose nodes have equal parts in what people ask mostly
            memory=memory // nodes if memory else None,
            option="mem" if memory else "",
            cores=job.cores or (cores // nodes if cores else None),
            time_limit=duration_of(told.get("Resource_List.walltime", "")) or job.time_limit,
            account=job.account or told.get("Account_Name", "")[:LONGEST],
            restarts=restarts,
            started=started,
            waited=wait_of(queued, started),
        )


def _queued(told: Mapping[str, str], restarts: int) -> float | None:
    """Since when it waited. That it was submitted stays what qtime says of a job that is run again."""
    if restarts:
        return _time(told.get("obittime", ""))
    return _time(told.get("qtime", "")) or _time(told.get("ctime", ""))


def _installed(file: str) -> Sequence[str]:
    """Where the commands of the installation that a configuration describes are."""
    try:
        text = Path(file).read_text(errors="replace")[:LONGEST_CONFIGURATION]
    except OSError:
        return ()
    return tuple(f"{folder}/bin" for folder in INSTALLED.findall(text)[:1])


def _time(text: str) -> float | None:
    """Of “Thu Nov 12 13:45:00 2026”, by the clock and time zone of this machine."""
    parts = parsedate(text)
    try:
        return time.mktime(parts) if parts else None
    except (OverflowError, ValueError):
        return None


PBS = Pbs()
