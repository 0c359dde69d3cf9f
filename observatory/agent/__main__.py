"""`python -m observatory.agent flush`: sends the batches that stopped agents left in the spool."""

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
from observatory.agent.delivery.batch import OVER, AgentBatch
from observatory.agent.delivery.ingest_client import IngestClient, Outcome
from observatory.agent.delivery.sender import send, send_all
from observatory.agent.delivery.spool import abandoned_spools, owner_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 when the spool is empty, 1 when batches are left or a setting is wrong."""
    parser = argparse.ArgumentParser(prog="python -m observatory.agent", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    command = commands.add_parser("flush", help="send the batches that stopped agents left in the spool")
    command.add_argument("--url", help="address of Observatory (default: observatory.url)")
    command.add_argument("--token", help="ingest token (default: observatory.token)")
    command.add_argument(
        "--spool-directory", help="folder of the spool (default: observatory.spool-directory)"
    )
    options = vars(parser.parse_args(arguments))
    if options.pop("command") is None:
        parser.print_help()
        return 0
    try:
        configuration = read_configuration(**options)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 1
    return flush(configuration)


def flush(configuration: Configuration) -> int:
    """Sends every batch in the spool. Returns 1 when some are left, else 0."""
    directory = spool_directory(configuration)
    print(f"{directory}: to {configuration.url}")
    left = 0
    with closing(IngestClient(configuration)) as client:
        # any token of the project will do: the one that the agent used may have been replaced
        for spool in abandoned_spools(directory, configuration.url, _is_ours(client, configuration)):
            total = len(spool)
            if not left:
                send_all(spool, _with_progress(client, spool.folder.name, total))
            left += len(spool)
            print(f"{spool.folder.name}: {total - len(spool)} of {total} batches sent")
            spool.close()
    print(f"{left} batches left")
    return 1 if left else 0


def _is_ours(client: IngestClient, configuration: Configuration) -> Callable[[str], bool]:
    """Whether a spool is of the token's project. Servers that cannot tell take it: somebody asked for it."""
    own = owner_of(configuration.url, configuration.token)["token"]

    def is_ours(digest: str) -> bool:
        if digest == own or client.is_of_same_project(digest) is not False:
            return True
        print("a spool of another project's token is left: flush it with a token of its project")
        return False

    return is_ours


def _with_progress(client: IngestClient, name: str, total: int) -> Callable[[AgentBatch], Outcome]:
    """A function that sends a batch and prints errors and progress."""
    sent = 0

    def deliver(batch: AgentBatch) -> Outcome:
        nonlocal sent
        outcome = send(client, batch, OVER)
        if outcome is not Outcome.ACKNOWLEDGED:
            print(client.error, file=sys.stderr)
        else:
            sent += 1
            if sent % 100 == 0:
                print(f"{name}: {sent} of {total} batches sent", flush=True)
        return outcome

    return deliver


if __name__ == "__main__":
    sys.exit(main())
