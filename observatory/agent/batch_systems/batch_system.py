"""What a batch system tells of the job in which a process runs: by its environment, and by a command."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from observatory.wire.workers.batch_jobs import BatchJob


class BatchSystem(ABC):
    """To add one, write a module like slurm.py and list it in systems.py."""

    name: ClassVar[str]
    """in records"""

    @abstractmethod
    def job(self, environ: Mapping[str, str]) -> BatchJob | None:
        """The job whose variables are in `environ`; None outside of a job. Never raises for bad values."""

    def command(self, environ: Mapping[str, str]) -> Sequence[str]:
        """What is run once to learn more of the job of `environ`; () if the environment has everything."""
        return ()

    def folders(self, environ: Mapping[str, str]) -> Sequence[str]:
        """Where its commands are if they aren't in PATH."""
        return ()

    def environ_of_command(self, environ: Mapping[str, str]) -> dict[str, str]:
        return {**environ, "LC_ALL": "C"}

    def with_answer(self, job: BatchJob, answer: str) -> BatchJob:
        """The job with what the command printed; unchanged if that is no answer."""
        return job
