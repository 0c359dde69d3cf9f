"""`python -m observatory.runtime.demo [--once]`: started and stopped by `manage.py up --demo`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys

from observatory.runtime.demo.cluster import DemoCluster
from observatory.runtime.demo.work import one_pass

log = logging.getLogger("observatory.demo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="one pass, then close the cluster")
    once = parser.parse_args().once
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    signal.signal(signal.SIGTERM, _stop)
    with DemoCluster() as cluster:
        _watch(cluster.http_address)
        with cluster.client() as client:
            one_pass(client)
            while not once:
                one_pass(client)


def _watch(http_address: str) -> None:
    """Makes the scheduler a target, as its user would."""
    command = [sys.executable, "manage.py", "watch", http_address, "--name", "demo"]
    done = subprocess.run(command, cwd=_checkout(), capture_output=True, text=True, check=False)
    log.info("%s", (done.stdout or done.stderr).strip())


def _checkout() -> str:
    return os.path.dirname(os.path.abspath(sys.modules["observatory"].__path__[0]))


def _stop(*_: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
