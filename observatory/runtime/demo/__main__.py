"""`python -m observatory.runtime.demo [--once]`: started and stopped by `manage.py up --demo`."""

from __future__ import annotations

import argparse
import logging
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from observatory.runtime.children import dying_with_us
from observatory.runtime.demo import READY
from observatory.runtime.demo.cluster import DemoCluster
from observatory.runtime.demo.work import one_pass

MANAGE = Path(__file__).parents[3] / "manage.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="one pass, then close the cluster")
    parser.add_argument("--folder", type=Path, required=True, help="for what workers spill; is emptied")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    signal.signal(signal.SIGTERM, _stop)
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir()
    with DemoCluster(options.folder) as cluster, cluster.client() as client:
        _watch(cluster.http_address)
        (options.folder / READY).touch()
        one_pass(client)
        while not options.once:
            cluster.mend(client)
            one_pass(client)


def _watch(http_address: str) -> None:
    command = [sys.executable, str(MANAGE), "watch_demo", http_address]
    subprocess.run(command, check=True, preexec_fn=dying_with_us())


def _stop(*_: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
