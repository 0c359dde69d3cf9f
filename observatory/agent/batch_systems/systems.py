"""The batch systems that are known, and the job in which this process runs."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence

from observatory.agent.batch_systems.batch_system import BatchSystem
from observatory.agent.batch_systems.htcondor import HTCONDOR
from observatory.agent.batch_systems.lsf import LSF
from observatory.agent.batch_systems.pbs import PBS
from observatory.agent.batch_systems.slurm import SLURM
from observatory.wire.workers.batch_jobs import BatchJob

SYSTEMS: tuple[BatchSystem, ...] = (HTCONDOR, SLURM, PBS, LSF)
"""HTCondor first: its pilots run as jobs of the others, whose variables its jobs inherit"""
TIMEOUT = 10.0
"""seconds of a command"""
LONGEST_ANSWER = 100_000

logger = logging.getLogger("distributed.observatory.batch_systems")


def job_of_process(environ: Mapping[str, str] | None = None) -> tuple[BatchSystem, BatchJob] | None:
    """The job of the innermost batch system; None outside of a job."""
    given = os.environ if environ is None else environ
    for system in SYSTEMS:
        if (job := system.job(given)) is not None:
            return system, job
    return None


def with_queue(
    system: BatchSystem, job: BatchJob, environ: Mapping[str, str] | None = None, timeout: float = TIMEOUT
) -> BatchJob:
    """The job with what its batch system's command tells. Without the command, or an answer, as it is.

    It takes up to `timeout` seconds: call it in a thread.
    """
    given = os.environ if environ is None else environ
    command = system.command(given)
    program = _program(command[0], system, given) if command else None
    if program is None:
        return job
    try:
        answer = _answer([program, *command[1:]], system.environ_of_command(given), timeout)
    except (OSError, subprocess.SubprocessError) as error:
        logger.debug("Observatory's agent asked %s in vain: %s", command[0], error)
        return job
    return system.with_answer(job, answer)


def _program(name: str, system: BatchSystem, environ: Mapping[str, str]) -> str | None:
    found = shutil.which(name, path=environ.get("PATH"))
    return found or shutil.which(name, path=os.pathsep.join(system.folders(environ)))


def _answer(command: Sequence[str], environ: Mapping[str, str], timeout: float) -> str:
    """What the command prints, up to LONGEST_ANSWER bytes. Raises SubprocessError if it fails or is slow."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        start_new_session=True,
    ) as process:
        ending = threading.Timer(timeout, _kill, [process])
        ending.start()
        try:
            assert process.stdout is not None
            answer = process.stdout.read(LONGEST_ANSWER)
            process.stdout.close()
            code = process.wait()
        finally:
            ending.cancel()
    if code:
        raise subprocess.CalledProcessError(code, command[0])
    return answer.decode(errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the command and what it started: on many sites it is a script."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
