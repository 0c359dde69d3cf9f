"""`python -m observatory.agent flush`: sends what agents that are gone left in the spool."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import closing

from observatory.agent.configuration import (
    Configuration,
    ConfigurationError,
    read_configuration,
    spool_directory,
)
from observatory.agent.delivery.batch import Batch
from observatory.agent.delivery.ingest_client import IngestClient, Outcome
from observatory.agent.delivery.sender import send, send_all
from observatory.agent.delivery.spool import left_behind


def main(arguments: Sequence[str] | None = None) -> int:
    """0: nothing is left; 1: something is, or a setting is wrong."""
    parser = argparse.ArgumentParser(prog="python -m observatory.agent", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    command = commands.add_parser("flush", help="send what agents that are gone left in the spool")
    command.add_argument("--url", help="where Observatory is; else observatory.url of Dask's configuration")
    command.add_argument("--token", help="an ingest token; else observatory.token")
    command.add_argument("--spool-directory", help="where the spool is; else observatory.spool-directory")
    given = vars(parser.parse_args(arguments))
    if given.pop("command") is None:
        parser.print_help()
        return 0
    try:
        configuration = read_configuration(**given)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 1
    return flush(configuration)


def flush(configuration: Configuration) -> int:
    directory = spool_directory(configuration)
    print(f"{directory}: to {configuration.url}")
    left = 0
    with closing(IngestClient(configuration)) as post:
        # whoever calls this chose the token: it may be a newer one of the same project
        for spool in left_behind(directory, {"url": configuration.url}):
            there = len(spool)
            if not left:
                send_all(spool, _reporting(post, spool.folder.name, there))
            left += len(spool)
            print(f"{spool.folder.name}: {there - len(spool)} of {there} batches sent")
            spool.close()
    print(f"{left} batches left")
    return 1 if left else 0


def _reporting(post: IngestClient, name: str, there: int) -> Callable[[Batch], Outcome]:
    sent = 0

    def deliver(batch: Batch) -> Outcome:
        nonlocal sent
        outcome = send(post, batch)
        if outcome is not Outcome.ACKNOWLEDGED:
            print(post.said, file=sys.stderr)
        else:
            sent += 1
            if sent % 100 == 0:
                print(f"{name}: {sent} of {there} batches sent", flush=True)
        return outcome

    return deliver


if __name__ == "__main__":
    sys.exit(main())
