"""Jobs of Slurm, by their environment and squeue.

Source: the sections “output environment variables” of man sbatch and man srun; man squeue.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from observatory.agent.batch_systems.amounts import (
    MIB,
    bytes_of,
    count_of,
    duration_of,
    seconds_of,
    text_of,
    wait_of,
)
from observatory.agent.batch_systems.batch_system import BatchSystem
from observatory.wire.workers.batch_jobs import BatchJob

NUMBER = re.compile(r"\d{1,18}")
FORMAT = "%V|%S|%l"
"""submitted, started, time limit: none of them is a text that somebody wrote"""


class Slurm(BatchSystem):
    name: ClassVar[str] = "slurm"

    def job(self, environ: Mapping[str, str]) -> BatchJob | None:
        number = text_of(environ, "SLURM_JOB_ID", "SLURM_JOBID")
        if not NUMBER.fullmatch(number):
            return None
        array = text_of(environ, "SLURM_ARRAY_JOB_ID")
        memory, option = _memory(environ)
        started = seconds_of(environ.get("SLURM_JOB_START_TIME", ""))
        ends = seconds_of(environ.get("SLURM_JOB_END_TIME", ""))
        return BatchJob(
            system=self.name,
            id=_shown_id(environ, number, array),
            restarts=count_of(environ.get("SLURM_RESTART_COUNT", "")) or 0,
            array=array,
            site=text_of(environ, "SLURM_CLUSTER_NAME"),
            name=text_of(environ, "SLURM_JOB_NAME"),
            queue=text_of(environ, "SLURM_JOB_PARTITION"),
            account=text_of(environ, "SLURM_JOB_ACCOUNT"),
            node=text_of(environ, "SLURMD_NODENAME"),
            nodes=count_of(environ.get("SLURM_JOB_NUM_NODES", "")),
            cores=count_of(environ.get("SLURM_CPUS_ON_NODE", "")),
            memory=memory,
            option=option,
            time_limit=ends - started if started and ends and ends > started else None,
            started=started,
        )

    def command(self, environ: Mapping[str, str]) -> Sequence[str]:
        number = text_of(environ, "SLURM_JOB_ID", "SLURM_JOBID")
        return "squeue", "--noheader", "--states=all", f"--jobs={number}", f"--format={FORMAT}"

    def environ_of_command(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Without the filters and formats of squeue that people set."""
        kept = {name: value for name, value in environ.items() if not name.startswith("SQUEUE_")}
        return {**super().environ_of_command(kept), "SLURM_TIME_FORMAT": "%s"}

    def with_answer(self, job: BatchJob, answer: str) -> BatchJob:
        submitted, started, limit = [*answer.strip().split("\n")[0].split("|"), "", "", ""][:3]
        since, begun = seconds_of(submitted), seconds_of(started) or job.started
        return replace(
            job,
            started=begun,
            waited=wait_of(since, begun),
            time_limit=duration_of(limit) or job.time_limit,
        )


def _shown_id(environ: Mapping[str, str], number: str, array: str) -> str:
    """As squeue shows it."""
    if NUMBER.fullmatch(array) and NUMBER.fullmatch(task := text_of(environ, "SLURM_ARRAY_TASK_ID")):
        return f"{array}_{task}"
    return number


def _memory(environ: Mapping[str, str]) -> tuple[int | None, str]:
    """Bytes on this node, and the option. --mem=0 asks for all that the node has, so for no amount."""
    amounts = {
        "--mem": (environ.get("SLURM_MEM_PER_NODE", ""), "1"),
        "--mem-per-cpu": (environ.get("SLURM_MEM_PER_CPU", ""), environ.get("SLURM_CPUS_ON_NODE", "")),
        "--mem-per-gpu": (environ.get("SLURM_MEM_PER_GPU", ""), environ.get("SLURM_GPUS_ON_NODE", "")),
    }
    given = {option: amount for option, amount in amounts.items() if amount[0].strip()}
    if len(given) != 1:  # a job that was submitted from another one can have the variables of both
        return None, ""
    [(option, (text, times))] = given.items()
    each, number = bytes_of(text, MIB), count_of(times)
    return (each * number, option) if each and number else (None, "")


SLURM = Slurm()
