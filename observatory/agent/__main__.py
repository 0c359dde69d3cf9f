"""`python -m observatory.agent flush`: sends what agents that are gone left in the spool."""

from __future__ import annotations

import argparse
import sys

from observatory.agent.backlog import Batch
from observatory.agent.configuration import ConfigurationError, read_configuration, spool_directory
from observatory.agent.post import Outcome, Post
from observatory.agent.sender import send_all
from observatory.agent.spool import left_behind


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m observatory.agent", description=__doc__)
    parser.add_argument("command", choices=["flush"])
    parser.add_argument("--url", help="where Observatory is; else observatory.url of Dask's configuration")
    parser.add_argument("--token", help="an ingest token; else observatory.token")
    parser.add_argument("--spool-directory", help="where the spool is; else observatory.spool-directory")
    given = vars(parser.parse_args())
    del given["command"]
    try:
        configuration = read_configuration(**given)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 2
    post = Post(configuration)
    sent = left = 0

    def send(batch: Batch) -> Outcome:
        nonlocal sent
        outcome = post.send(batch.body())
        if outcome is Outcome.ACKNOWLEDGED:
            sent += 1
            print(f"\r{sent} batches sent", end="", flush=True)
        else:
            print(f"\n{post.said}", file=sys.stderr)
        return outcome

    for spool in left_behind(spool_directory(configuration), configuration.url):
        left += send_all(spool, send)
        spool.close()
        if left:
            break
    print(f"\r{sent} batches sent, {left} left")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
