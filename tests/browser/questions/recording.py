"""One recording of a real cluster, with an answer to each question, and what its script knows of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
import numpy
from dask.utils import key_split
from distributed import Client, Nanny, Scheduler, SpecCluster, wait
from distributed.diagnostics.plugin import SchedulerPlugin

import observatory.agent
from benchmarks.figuring.expected import Recorded
from benchmarks.figuring.recorder import ScheduledTasks, WorkerSide
from tests.browser.observatory import Observatory
from tests.browser.questions import workload
from tests.browser.recorder import Recorder, Recording

NAME = "nightly etl"
CLUSTER = "questions"
THREADS = 2
"""of each worker"""
WORKERS = ("alice", "bob", "carol")
ALL_THREADS = THREADS * len(WORKERS)
PRICE = 3600
"""of a thread-hour, so that a thread-second costs 1"""
MB = 1_000_000
BLOB, KEPT = 40 * MB, 150 * MB
EARLIER_NAP, NAP, LONG_NAP, CRUNCH, FIRST_BLOCK = 0.02, 0.05, 2.5, 4.0, 2.5
"""seconds"""
NAPS = 40
STRAGGLER = f"nap-{NAPS:08d}"
"""the key of the long nap, which no other contains: those of some tasks end in random digits"""
SETTLING = 2.5
"""seconds until heartbeats and samples tell what workers' memory has"""
IDLE = 1.5
"""seconds in which the client sends nothing"""
BUSY_SCHEDULER = 2.2
"""seconds; Dask looks at its event loop once a second"""
VERSION = "4.3.2"
"""of a package that only bob has"""
ARRAY = (500, 500)
CHUNK = 50
"""rows before the shuffle, columns after it"""


class Lifetimes(SchedulerPlugin):
    """When each worker joined and left."""

    name = "lifetimes"

    def __init__(self, scheduler: Scheduler) -> None:
        self.joined = dict.fromkeys(scheduler.workers, time.time())
        self.left: dict[str, float] = {}
        self.names = {address: str(worker.name) for address, worker in scheduler.workers.items()}

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self.joined[worker] = time.time()
        self.names[worker] = str(scheduler.workers[worker].name)

    def remove_worker(self, scheduler: Scheduler, worker: str, **kwargs: Any) -> None:
        self.left[worker] = time.time()

    def thread_seconds(self, start: float, stop: float) -> float:
        """Those of all workers' threads in [start, stop)."""
        lives = [(max(at, start), min(self.left.get(each, stop), stop)) for each, at in self.joined.items()]
        return THREADS * sum(max(last - first, 0.0) for first, last in lives)


@dataclass
class Known:
    """What the script knows of its run; times in seconds since 1970."""

    recording: Recording
    lifetimes: Lifetimes
    recorded: Recorded | None = None
    """what the plugins of plain distributed wrote of the run (benchmarks/figuring)"""
    start: float = 0.0
    stop: float = 0.0
    moments: dict[str, tuple[float, float]] = field(default_factory=dict)
    """when the phases of these names began and ended"""
    stolen: set[str] = field(default_factory=set)
    """keys"""
    earlier_seconds: list[float] = field(default_factory=list)
    """durations of the runs of its name before it"""
    other_seconds: float = 0.0
    """of the runs with other names"""

    @contextmanager
    def moment(self, name: str) -> Iterator[None]:
        start = time.time()
        yield
        self.moments[name] = (start, time.time())

    @property
    def seen(self) -> Recorded:
        assert self.recorded is not None, "the run is over"
        return self.recorded

    def computed_on(self, key: str) -> str:
        """The name of the worker that computed a task."""
        return self.lifetimes.names[self.seen.computed_on(key)]

    def transferred(self, sender: str, receiver: str) -> tuple[int, int]:
        """Bytes and number of transfers from a worker to another, by their names."""
        nbytes, count = self.seen.transfers()
        names = self.lifetimes.names
        pairs = [pair for pair in nbytes if (names[pair[0]], names[pair[1]]) == (sender, receiver)]
        return sum(nbytes[pair] for pair in pairs), sum(count[pair] for pair in pairs)

    def middle(self, name: str) -> float:
        return self.within(name, 0.5)

    def within(self, name: str, share: float) -> float:
        start, stop = self.moments[name]
        return start + share * (stop - start)

    def durations(self, prefix: str) -> list[float]:
        """Of the tasks that the scheduler saw computed in the run."""
        return [
            stop - start
            for key, action, start, stop in self.recording.spans
            if action == "compute" and key.startswith(f"{prefix}-") and start >= self.start
        ]

    @property
    def slowest_prefix(self) -> tuple[str, float]:
        """The prefix that computed longest in the run, and its seconds."""
        seconds: Counter[str] = Counter()
        for key, action, start, stop in self.recording.spans:
            if action == "compute" and start >= self.start:
                seconds[key_split(key)] += stop - start
        return seconds.most_common(1)[0]

    @property
    def died(self) -> list[tuple[str, float]]:
        """Address and time of the workers that left in the run."""
        return [(address, time) for address, time in self.lifetimes.left.items() if time < self.stop]

    @property
    def thread_seconds(self) -> float:
        return self.lifetimes.thread_seconds(self.start, self.stop)


def record(target: Observatory, token: str, folder: Path) -> Known:
    """Runs the cluster, closes it, and returns what is known of it."""
    settings = {
        "distributed.diagnostics.computations.nframes": 1,
        "distributed.scheduler.allowed-failures": 0,
        "array.rechunk.method": "p2p",
    }
    with dask.config.set(settings), _cluster(folder) as cluster, Client(cluster) as client:
        client.wait_for_workers(len(WORKERS), timeout=300)
        known: Known = cluster.sync(_watch, cluster.scheduler)
        written = folder / "written"
        written.mkdir()
        client.register_plugin(ScheduledTasks(str(written)))
        client.register_plugin(WorkerSide(str(written)))
        observatory.agent.register(client, url=target.url, token=token, name=CLUSTER, flush_interval="1s")
        for _ in range(3):
            known.earlier_seconds.append(_earlier_run(client))
        known.other_seconds = _smoke_test(client)
        run_nightly_etl(client, known)
        time.sleep(2)
    known.recorded = Recorded(written, known.start, known.stop)
    return known


def run_nightly_etl(client: Client, known: Known) -> None:
    alice, bob, carol = (_address(known, name) for name in WORKERS)
    with observatory.run(NAME, tags={"git": "3f2a1c"}):
        known.start = time.time()
        blob = client.submit(workload.make, BLOB, key="blob-1", workers=[alice])
        kept = client.submit(workload.make, KEPT, key="kept-1", workers=[bob])
        wait([blob, kept])
        measured = client.submit(workload.measure, blob, key="measure-1", workers=[bob])
        wait(measured)
        time.sleep(SETTLING)
        with known.moment("blob in memory"):
            time.sleep(IDLE)
        del blob, measured
        with known.moment("straggler"):
            naps = client.map(workload.nap, [NAP] * NAPS, key=[f"nap-{number}" for number in range(NAPS)])
            naps.append(client.submit(workload.nap, LONG_NAP, key=STRAGGLER, workers=[bob]))
            wait(client.submit(sum, naps, key="gather-1"))
        del naps
        with known.moment("gil"):
            wait(
                [client.submit(workload.crunch, CRUNCH, key=f"crunch-{n}", workers=[alice]) for n in range(2)]
            )
        with known.moment("shuffle"):
            _shuffle(client)
        with known.moment("steals"):
            _be_stolen(client, alice)
        client.log_event("progress", {"said": "half of it"})
        with known.moment("busy scheduler"):
            client.run_on_scheduler(workload.crunch, BUSY_SCHEDULER)
        wait(client.submit(workload.check, 7, key="check-7"))
        wait(client.submit(workload.look_up, "column", key="lookup-1"))
        with known.moment("death"):
            wait(client.submit(workload.die, key="die-1", workers=[carol]))
        client.wait_for_workers(len(WORKERS), timeout=300)
        del kept
        known.stop = time.time()
    for _, event in client.get_events("stealing"):
        known.stolen |= {str(step[1]) for step in _steps(event) if step[0] == "confirm"}


def _steps(event: Any) -> list[Any]:
    """The entries of an event of Dask's topic of steals, which are single ones or lists."""
    return [event] if isinstance(event[0], str) else list(event)


def _earlier_run(client: Client) -> float:
    with observatory.run(NAME, tags={"git": "0b9d44"}):
        start = time.time()
        wait(client.map(workload.nap, [EARLIER_NAP] * NAPS, pure=False))
        time.sleep(0.5)
        return time.time() - start


def _smoke_test(client: Client) -> float:
    """A run that fails as the later one will."""
    with observatory.run("smoke test"):
        start = time.time()
        wait(client.submit(workload.check, 1, key="check-1"))
        return time.time() - start


def _shuffle(client: Client) -> None:
    import dask.array  # here, because each process of pytest imports this module

    numbers = numpy.arange(ARRAY[0] * ARRAY[1]).reshape(ARRAY)
    rows = dask.array.from_array(numbers, chunks=(CHUNK, ARRAY[1]))
    columns = rows.rechunk((ARRAY[0], CHUNK))
    slow = columns.map_blocks(workload.first_is_slow, FIRST_BLOCK, dtype=rows.dtype)
    client.compute(slow.sum()).result(120)


def _be_stolen(client: Client, victim: str) -> None:
    """Sends all work to one worker, because that has the data."""
    data = client.scatter([bytes(1000 + number) for number in range(50)], workers=[victim])
    wait([client.submit(workload.nap_with, each, 0.05, key=f"steal-{n}") for n, each in enumerate(data)])


def _address(known: Known, name: str) -> str:
    [address] = [each for each, of in known.lifetimes.names.items() if of == name]
    return address


async def _watch(scheduler: Scheduler) -> Known:
    recording = Recording()
    lifetimes = Lifetimes(scheduler)
    scheduler.add_plugin(Recorder(recording, scheduler))
    scheduler.add_plugin(lifetimes)
    return Known(recording, lifetimes)


def _cluster(folder: Path) -> SpecCluster:
    (folder / f"lz4-{VERSION}.dist-info").mkdir()
    (folder / f"lz4-{VERSION}.dist-info" / "METADATA").write_text(f"Name: lz4\nVersion: {VERSION}\n")
    preload = folder / "preload.py"
    preload.write_text(f"import sys\nsys.path.append({str(folder)!r})\n")
    options: Mapping[str, Any] = {"nthreads": THREADS, "memory_limit": 2**30, "host": "127.0.0.1"}
    workers = {name: {"cls": Nanny, "options": dict(options)} for name in WORKERS}
    workers["bob"]["options"]["preload"] = [str(preload)]
    scheduler = {
        "cls": Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0"},
    }
    return SpecCluster(workers=workers, scheduler=scheduler, silence_logs="CRITICAL")
