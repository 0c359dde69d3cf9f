"""A worker of Celery with threads, for `up`: without Celery's command line, whose libraries take 8 MiB."""

from __future__ import annotations

import argparse
import sys

from celery.utils.nodenames import host_format

from observatory.base.priority import lower_own
from observatory.config.celery import app


def main() -> int:
    """Works until SIGTERM or SIGINT. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the worker's name for other workers; %%h is the host")
    parser.add_argument("threads", type=int)
    parser.add_argument("--queues", help="the queues, separated by commas; all by default")
    parser.add_argument("--background", action="store_true", help="with a lower priority than other programs")
    options = parser.parse_args()
    if options.background:
        lower_own()
    worker = app.Worker(
        hostname=host_format(options.name),
        pool_cls="threads",
        concurrency=options.threads,
        queues=options.queues,
        quiet=True,
        # workers of `up` have nothing to say to each other
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


if __name__ == "__main__":
    sys.exit(main())
