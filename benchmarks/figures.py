"""Whether the figures of runs are those that happened: ten workloads against an independent recorder.

Each workload runs on a LocalCluster of its own, with the agent and with plugins of plain distributed that
write what they see. Then each number of the card and of the tabs Tasks, Workers, Progress, Transfers, Memory,
Contention and Profile is compared with its computation from these. Counts, spans and bytes must be equal;
values that are sampled must be among those of the recorder within one interval of sampling. Prints the
differences to standard error and one JSON line; the exit code is 1 if there are any. ONLY names one workload.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import dask
from distributed import Client, LocalCluster

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import observatory.agent  # noqa: E402
from benchmarks.figuring.compared import Compared, compare  # noqa: E402
from benchmarks.figuring.expected import Recorded  # noqa: E402
from benchmarks.figuring.recorder import ScheduledTasks, WorkerSide  # noqa: E402
from benchmarks.figuring.workloads import OPTIONS, WORKLOADS  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.measuring.server import evaluated, new_observatory  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

WORKERS, THREADS, LIMIT = 2, 2, "1GiB"
SETTINGS = {"array.rechunk.method": "p2p", "dataframe.shuffle.method": "p2p"}
READ = """
import json
from benchmarks.figuring.answers import answers_of_runs
print(json.dumps(answers_of_runs()))
"""


def record(server: Observatory, token: str, name: str, folder: Path) -> None:
    options = {"n_workers": WORKERS, "threads_per_worker": THREADS, "memory_limit": LIMIT, **OPTIONS[name]}
    with (
        dask.config.set(SETTINGS),
        LocalCluster(**options, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL") as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(ScheduledTasks(str(folder)))
        client.register_plugin(WorkerSide(str(folder)))
        observatory.agent.register(client, url=server.url, token=token, name=name, flush_interval="1s")
        time.sleep(2)
        with observatory.run(name):
            kept = WORKLOADS[name](client)
            time.sleep(2)
        del kept
        time.sleep(2)


def main() -> int:
    chosen = [name for name in WORKLOADS if os.environ.get("ONLY", name) == name]
    all_compared: list[Compared] = []
    with tempfile.TemporaryDirectory() as parent, new_observatory() as (server, token):
        folders = {name: Path(parent) / name.replace(" ", "-") for name in chosen}
        for name, folder in folders.items():
            folder.mkdir()
            record(server, token, name, folder)
        shown = json.loads(evaluated(server, READ))
        for name, folder in folders.items():
            answers = shown[name]
            all_compared += compare(name, answers, Recorded(folder, answers["start"], answers["stop"]))
    return _report(chosen, all_compared)


def _report(names: list[str], all_compared: list[Compared]) -> int:
    for one in all_compared:
        if not one.agrees:
            print(f"{one.run}: {one.place}: {one.what}: {one.shown}, not {one.expected}", file=sys.stderr)
    different = Counter(one.place for one in all_compared if not one.agrees)
    counts = Counter(one.place for one in all_compared)
    results = [
        Result(
            f"{place.lower()}: figures that differ, of {counts[place]:,}",
            "a recorder",
            different[place],
            0,
        )
        for place in counts
    ]
    numbers: dict[str, list[str]] = {}
    for one in all_compared:
        if one.figure not in numbers.setdefault(one.place, []):
            numbers[one.place].append(one.figure)
    return print_results("figures", results, ("dask", "distributed", "pandas"), numbers=numbers)


if __name__ == "__main__":
    sys.exit(main())
