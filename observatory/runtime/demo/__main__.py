"""`python -m observatory.runtime.demo [--once]`: the demo process of `up --demo`."""

from __future__ import annotations

import argparse
import logging
import shutil
import signal
from pathlib import Path

import dask

from observatory.runtime.demo import READY
from observatory.runtime.demo.cluster import DemoCluster
from observatory.runtime.demo.work import one_pass
from observatory.runtime.supervision import management


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="one pass, then close the cluster")
    parser.add_argument("--folder", type=Path, required=True, help="for spilled data; it is emptied")
    parser.add_argument("--url", required=True, help="where the agent reports to")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    signal.signal(signal.SIGTERM, _stop)
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir()
    agent = {
        "OBSERVATORY_URL": options.url,
        "OBSERVATORY_NAME": "demo",
        "OBSERVATORY_TOKEN": management.output("demo_token"),
        "DASK_OBSERVATORY__SPOOL_DIRECTORY": str(options.folder / "spool"),
    }
    # computations are recorded with the function that submitted them
    dask.config.set({"distributed.diagnostics.computations.nframes": 1})
    with DemoCluster(options.folder, agent) as cluster, cluster.client() as client:
        management.output("watch_demo", cluster.http_address)
        (options.folder / READY).touch()
        one_pass(client)
        while not options.once:
            cluster.restart_lost_workers(client)
            one_pass(client)


def _stop(*_: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
