"""A real Slurm of Debian's packages with one node, this machine, run by the current user without munge."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.agent.eventually import eventually
from tests.collect.dask_processes import free_port
from tests.support.debian_servers import Process, program

PACKAGE = "slurm-wlm"
CPUS, MEMORY = 16, 16_000
"""that the node claims to have; MiB"""
CONFIGURATION = """ClusterName={cluster}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
AuthInfo=cred_expire=5
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ReturnToService=2
JobRequeue=1
MinJobAge=300
KillWait=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=short Nodes=ALL Default=YES MaxTime=60 DefaultTime=30 State=UP
"""


class Slurm:
    """Its commands."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self.folder = folder
        self.cluster = cluster
        self.variables = {"SLURM_CONF": f"{folder}/slurm.conf", "LC_ALL": "C"}

    def run(self, *command: str) -> str:
        done = self._run(command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def submit(self, script: str, *options: str) -> str:
        """Submits a shell script; the id of its job."""
        path = self.folder / f"job-{time.monotonic_ns()}.sh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        return self.run("sbatch", "--parsable", *options, str(path)).strip()

    def is_idle(self) -> bool:
        """Whether the node takes jobs, and has none."""
        return self._run(["sinfo", "--noheader", "--format=%t"]).stdout.strip() == "idle"

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, **self.variables}
        return subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=120, env=environ, cwd=self.folder
        )


@contextmanager
def slurm(folder: Path) -> Iterator[Slurm]:
    """Starts controller and node daemon in `folder`, and ends them and their jobs."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    programs = [program(name, PACKAGE) for name in ("slurmctld", "slurmd")]
    controller = free_port()
    cluster = f"tests{controller}"  # others at the same time have jobs of the same ids
    text = CONFIGURATION.format(
        folder=folder,
        cluster=cluster,
        host=socket.gethostname().partition(".")[0],
        user=user,
        controller=controller,
        node=free_port(),
        cpus=CPUS,
        memory=MEMORY,
    )
    (folder / "slurm.conf").write_text(text)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    found = Slurm(folder, cluster)
    processes = [
        Process(
            [each, "-D"],
            folder / f"{Path(each).name}.log",
            found.is_idle,
            env={**os.environ, **found.variables},
        )
        for each in programs
    ]
    try:
        for process in processes:
            process.start()
        processes[-1].wait_until_ready()
        yield found
        found.run("scancel", f"--user={user}")
        eventually(found.is_idle)
    finally:
        for process in reversed(processes):
            process.kill()
