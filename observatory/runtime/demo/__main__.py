"""`python -m observatory.runtime.demo`: the demo process of `up --demo`, or of Compose with --address."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import signal
from pathlib import Path

import dask
from distributed import Client

from observatory.runtime.demo import READY
from observatory.runtime.demo.cluster import WORKERS, DemoCluster
from observatory.runtime.demo.work import one_pass
from observatory.runtime.supervision import management


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="one pass, then close the cluster")
    parser.add_argument("--folder", type=Path, help="for spilled data; it is emptied")
    parser.add_argument("--url", help="where the agent reports to")
    parser.add_argument("--address", help="of a scheduler, to work there instead of on a cluster of its own")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    signal.signal(signal.SIGTERM, _stop)
    # computations are recorded with the function that submitted them
    dask.config.set({"distributed.diagnostics.computations.nframes": 1})
    if options.address:
        work_at(options.address)
    elif options.folder and options.url:
        work_on_own_cluster(options.folder, options.url, options.once)
    else:
        parser.error("--address, or --folder and --url, is needed")


def work_at(address: str) -> None:
    """Work on a cluster that has the agent, until its scheduler is gone."""
    with Client(address, timeout="60s") as client:
        client.wait_for_workers(WORKERS, timeout=60)
        while client.status == "running":
            one_pass(client)


def work_on_own_cluster(folder: Path, url: str, once: bool) -> None:
    """Start a cluster with the agent, whose token is in the environment, and work on it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    agent = {
        "OBSERVATORY_URL": url,
        "OBSERVATORY_NAME": "demo",
        "OBSERVATORY_TOKEN": os.environ.pop("OBSERVATORY_TOKEN"),  # of the scheduler alone
        "DASK_OBSERVATORY__SPOOL_DIRECTORY": str(folder / "spool"),
    }
    with DemoCluster(folder, agent) as cluster, cluster.client() as client:
        management.output("watch_demo", cluster.http_address)
        (folder / READY).touch()
        one_pass(client)
        while not once:
            cluster.restart_lost_workers(client)
            one_pass(client)


def _stop(*_: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
