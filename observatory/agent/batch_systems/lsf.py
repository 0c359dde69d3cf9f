"""Jobs of IBM Spectrum LSF, by their environment and bjobs.

Source: its reference on environment variables set for job execution, bjobs -o and lsf.conf.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from observatory.agent.batch_systems.amounts import MIB, bytes_of, count_of, seconds_of, text_of
from observatory.agent.batch_systems.batch_system import BatchSystem
from observatory.wire.workers.batch_jobs import MOST_MEMORY, BatchJob

NUMBER = re.compile(r"\d{1,18}")
RESERVED = re.compile(r"rusage\[[^\]]{0,500}?\bmem=([\d.]{1,20}[a-zA-Z]{0,2})")
UNIT = re.compile(r"^\s*LSF_UNIT_FOR_LIMITS\s*=\s*\"?([KMGTPE])B?\"?\s*$", re.MULTILINE | re.IGNORECASE)
LONGEST_CONFIGURATION = 1_000_000
HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,16}")
MINUTE = 60.0


class Lsf(BatchSystem):
    name: ClassVar[str] = "lsf"

    def job(self, environ: Mapping[str, str]) -> BatchJob | None:
        number = text_of(environ, "LSB_JOBID")
        if not NUMBER.fullmatch(number):
            return None
        index = text_of(environ, "LSB_JOBINDEX")
        is_array = bool(NUMBER.fullmatch(index)) and int(index) > 0
        slots = _slots(environ)
        node = text_of(environ, "LSF_HOSTNAME", "HOSTNAME").partition(".")[0]
        memory, option = _memory(environ)
        return BatchJob(
            system=self.name,
            id=f"{number}[{index}]" if is_array else number,
            restarts=int(environ.get("LSB_RESTART", "") == "Y"),
            array=number if is_array else "",
            name=text_of(environ, "LSB_JOBNAME"),
            queue=text_of(environ, "LSB_QUEUE"),
            account=text_of(environ, "LSB_PROJECT_NAME"),
            node=node,
            nodes=len(slots) or None,
            cores=slots.get(node) or (sum(slots.values()) if len(slots) == 1 else None),
            memory=memory,
            option=option,
        )

    def command(self, environ: Mapping[str, str]) -> Sequence[str]:
        number, index = text_of(environ, "LSB_JOBID"), text_of(environ, "LSB_JOBINDEX")
        shown = f"{number}[{index}]" if NUMBER.fullmatch(index) and int(index) else number
        return "bjobs", "-noheader", "-o", "pend_time runtimelimit memlimit delimiter='|'", shown

    def with_answer(self, job: BatchJob, answer: str) -> BatchJob:
        pending, limit, memory_limit = [*answer.strip().split("\n")[0].split("|"), "", "", ""][:3]
        minutes = seconds_of(limit.partition("/")[0])  # 60.0/host
        asked = replace(
            job,
            waited=seconds_of(pending),
            time_limit=minutes * MINUTE if minutes else job.time_limit,
        )
        # dask-jobqueue asks with -M alone, which the environment has only where control groups enforce it
        memory = bytes_of(memory_limit.removesuffix("ytes"))  # 6 Gbytes
        is_known = job.memory is not None or memory is None or job.nodes != 1
        return asked if is_known else replace(asked, memory=memory, option="-M")


def _slots(environ: Mapping[str, str]) -> dict[str, int]:
    """By host, of “hostA 4 hostB 2”."""
    words = environ.get("LSB_MCPU_HOSTS", "")[:100_000].split()
    pairs = zip(words[::2], words[1::2], strict=False)
    return {host.partition(".")[0]: slots for host, text in pairs if (slots := count_of(text))}


def _memory(environ: Mapping[str, str]) -> tuple[int | None, str]:
    """The limit of the job's control group in bytes, otherwise what it reserved, and the option."""
    limit = text_of(environ, "LSB_CG_MEMLIMIT")
    if HEXADECIMAL.fullmatch(limit) and 0 < (size := int(limit, 16)) <= MOST_MEMORY:
        return size, "-M"
    reserved = RESERVED.search(environ.get("LSB_EFFECTIVE_RSRCREQ", "")[:10_000])
    memory = bytes_of(reserved[1], _unit(environ)) if reserved else None
    return (memory, "rusage[mem]") if memory else (None, "")


def _unit(environ: Mapping[str, str]) -> int:
    """The bytes in which the site counts memory; MiB where its configuration doesn't say."""
    try:
        with Path(environ.get("LSF_ENVDIR", ""), "lsf.conf").open(errors="replace") as file:
            found = UNIT.search(file.read(LONGEST_CONFIGURATION))
    except (OSError, ValueError):
        found = None
    return bytes_of(f"1{found[1]}") or MIB if found else MIB


LSF = Lsf()
