"""Reports clusters as their agents do, over HTTP.

`python -m benchmarks.simulated.agents FILE COUNT URL TOKEN` runs the delivery of COUNT agents: their buffers,
encoders and senders are real. What they report was recorded: the rows of each second in turn, at their times.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distributed

import observatory.agent
from benchmarks.runs.recording import receiving
from observatory.agent.configuration import read_configuration
from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.sender import ClusterInfo, Sender
from observatory.agent.scheduler.samples import AT_REST
from observatory.store.ingest.batches.reading_blocks import records_of_block
from observatory.wire.batches import decode_batch
from observatory.wire.kind import Type
from observatory.wire.kinds import KINDS

WORKERS = 4
SECONDS = 20
Rows = dict[str, list[list[Any]]]
"""by kind"""


def record_rows(tasks: int) -> list[Rows]:
    """What the agent of a real cluster reports each second, which runs so many tasks a second.

    The first have its workers, too.
    """
    cluster = distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=2, silence_logs="ERROR", dashboard_address="127.0.0.1:0"
    )
    with receiving() as (url, bodies), cluster, distributed.Client(cluster) as client:
        observatory.agent.register(client, url=url, token="benchmark", flush_interval=1.0)
        for _ in range(SECONDS):
            if tasks:
                client.gather(client.map(lambda number: number + 1, range(tasks), pure=False))
            time.sleep(1.0)
        observatory.agent.unregister(client)
        first, *others = _seconds(bodies)
    # what the end of the recording does is no part of a rest
    return [first, *(second for second in others if tasks or second.keys() <= {"sample"})]


def _seconds(bodies: Sequence[bytes]) -> Iterator[Rows]:
    for body in bodies:
        _, blocks = decode_batch(gzip.decompress(body))
        yield {
            name: [list(row) for row in records_of_block(block)[0].rows()] for name, block in blocks.items()
        }


@dataclass(frozen=True, slots=True)
class Second:
    """What an agent reports of a second, as it is sent but for its time."""

    newest: float
    """The time of its last sample."""
    rows: dict[str, list[list[Any]]]
    """by kind"""

    @classmethod
    def of(cls, recorded: Rows) -> Second:
        newest = max((row[0] for row in recorded.get("sample", ())), default=time.time())
        return cls(newest, {kind: [list(map(_sent, row)) for row in rows] for kind, rows in recorded.items()})


TIMES = {
    name: [at for at, field in enumerate(kind.fields) if field.type is Type.TIME]
    for name, kind in KINDS.items()
}


class Reporter:
    """One agent, which reports the recorded seconds again and again."""

    def __init__(self, number: int, seconds: Sequence[Second], url: str, token: str, folder: str) -> None:
        self.seconds = seconds
        self.began = time.time()
        self.buffer = Buffer()
        name = f"Scheduler-of-agent-{number}"
        info = ClusterInfo(name, name, f"tcp://10.0.0.1:{number}", self.began, self.began)
        self.sender = Sender(
            read_configuration(url=url, token=token, spool_directory=folder), info, self.buffer
        )
        self.sender.start()

    def report(self, second: int) -> None:
        """Adds what was recorded of a second, at rest only of every other one, as the sampler does.

        Of all but the first round no worker joins or leaves.
        """
        if second % AT_REST and self.sender.pace.is_at_long_rest:
            return
        turn = 1 + (second - 1) % (len(self.seconds) - 1) if second else 0
        reported = self.seconds[turn]
        later = time.time() - reported.newest
        for kind, rows in reported.rows.items():
            if kind in ("worker", "gone") and second:
                continue
            append, times = self.buffer.appender(kind), TIMES[kind]
            for row in rows:
                moved = row.copy()
                for at in times:
                    moved[at] += later
                append(tuple(moved))


def _sent(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("recording", type=Path)
    parser.add_argument("agents", type=int)
    parser.add_argument("url")
    parser.add_argument("token")
    options = parser.parse_args()
    seconds = [Second.of(rows) for rows in json.loads(options.recording.read_text())]
    with tempfile.TemporaryDirectory() as folder:
        reporters = [
            Reporter(number, seconds, options.url, options.token, folder) for number in range(options.agents)
        ]
        print("reporting", flush=True)
        began, second = time.monotonic(), 0
        while True:
            for number, reporter in enumerate(reporters):
                time.sleep(max(0.0, began + second + number / len(reporters) - time.monotonic()))
                reporter.report(second)
            second += 1


if __name__ == "__main__":
    main()
