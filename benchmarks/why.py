"""Whether the tab Why? finds the cause of real workloads that are slow or fail.

Each scenario of tests/why/scenarios runs on a LocalCluster of processes with an agent, once with its cause
and once without it. What the cause costs is the difference; the finding's cost in wall time is compared with
it. Half of the scenarios were not used to build the detectors: these are judged. Healthy workloads run once.
Prints a table to standard error and one JSON line; the exit code is 1 if a limit was missed. ONLY names the
scenarios to run, by parts of their names, separated by commas.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import observatory.agent  # noqa: E402
from benchmarks.explaining.verdicts import Verdict, results_of, verdict  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.measuring.server import evaluated, new_observatory  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402
from tests.why.scenarios import graphs, seeded, waiting  # noqa: E402, F401 (registers them)
from tests.why.scenarios.healthy import HEALTHY  # noqa: E402
from tests.why.scenarios.scenario import SEEDED, Scenario  # noqa: E402
from tests.why.scenarios.tasks import AsIfTheyComputed  # noqa: E402

OPTIONS = {"n_workers": 2, "threads_per_worker": 2}
"""of the clusters, where a scenario has no others"""
MOST_OFF = 1e-5
"""of what adds up: times are rounded to microseconds"""
SETTLING = 3.0
"""seconds after a run, in which the agent sends its last records"""
FINDINGS = """
import json
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.thread_times.answer import thread_times
from observatory.why.findings.answer import findings
from observatory.why.critical_path.answer import critical_path
from observatory.why.reading import read_accounted
found = {}
for run in Run.objects.exclude(name="").filter(origin=Run.Origin.CODE):
    scope = scope_of_run(run)
    with read_connection() as connection:
        answer = findings(connection, scope, 0, MAXIMUM_TIME)
        times = thread_times(connection, scope, 0, MAXIMUM_TIME)
        path = critical_path(connection, scope, 0, MAXIMUM_TIME)
        window = [round(times[name] * 1e6) for name in ("start", "stop")]
        workers = read_accounted(connection, scope.cluster.pk, *window).workers
    lives = {one.id: one.threads * (one.stop - one.begun) / 1e6 for one in workers}
    kinds = {one["worker"]: sum(one["seconds"]) for one in times["workers"]}
    found[run.name] = {
        "findings": answer["findings"],
        "off": sum(abs(lives[id] - kinds.get(id, 0)) for id in lives) / sum(lives.values()),
        "path_off": abs(sum(one["seconds"] for one in path["kinds"]) / (path["stop"] - path["start"]) - 1),
    }
print(json.dumps(found))
"""


def main() -> int:
    only = [part for part in os.environ.get("ONLY", "").split(",") if part]
    seeded_ones = [one for name, one in SEEDED.items() if _is_wanted(name, only)]
    healthy_ones = {name: work for name, work in HEALTHY.items() if _is_wanted(name, only)}
    took: dict[str, float] = {}
    with new_observatory() as (server, token):
        for one in seeded_ones:
            for has_cause in (True, False):
                name = _name(one.name, has_cause)
                took[name] = record(
                    server, token, name, partial(_work, one, has_cause), one.options, one.is_computing
                )
        for name, work in healthy_ones.items():
            took[name] = record(server, token, name, work, {}, True)
        answers = json.loads(evaluated(server, FINDINGS))
    verdicts = [
        verdict(
            one,
            answers[_name(one.name, True)]["findings"],
            took[_name(one.name, True)] - took[_name(one.name, False)],
        )
        for one in seeded_ones
    ]
    wrong = {name: [each["sentence"] for each in answers[name]["findings"]] for name in healthy_ones}
    _print(verdicts, wrong, took)
    results = results_of(verdicts, sum(map(len, wrong.values())), len(wrong))
    results += [
        Result(what, f"{len(answers)} runs", max(one[off] for one in answers.values()), MOST_OFF)
        for what, off in (
            ("share of threads' lifetimes in no kind or in two", "off"),
            ("share of the window by which the critical path is off", "path_off"),
        )
    ]
    return print_results("why", results, ("dask", "distributed"), scenarios=[vars(one) for one in verdicts])


def record(
    server: Observatory,
    token: str,
    name: str,
    work: Callable[[Client], None],
    options: Any,
    is_computing: bool,
) -> float:
    """Run a workload on a cluster of its own as the run `name`; returns the seconds that it took."""
    with _cluster(options) as client:
        observatory.agent.register(client, url=server.url, token=token, name=name, flush_interval="1s")
        if is_computing:
            client.register_plugin(AsIfTheyComputed())
        client.gather(client.map(abs, range(100), key="warm"))
        time.sleep(1)
        start = time.monotonic()
        with contextlib.suppress(Exception), observatory.run(name):
            work(client)
        seconds = time.monotonic() - start
        time.sleep(SETTLING)
        return seconds


@contextlib.contextmanager
def _cluster(options: Any) -> Iterator[Client]:
    config = {"distributed.scheduler.worker-ttl": None, "distributed.scheduler.allowed-failures": 1}
    with (
        dask.config.set(config),
        LocalCluster(
            **{**OPTIONS, **options}, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _work(scenario: Scenario, has_cause: bool, client: Client) -> None:
    scenario.work(client, has_cause)


def _name(scenario: str, has_cause: bool) -> str:
    return f"{scenario} {'with' if has_cause else 'without'} its cause"


def _is_wanted(name: str, only: list[str]) -> bool:
    return not only or any(part in name for part in only)


def _print(verdicts: list[Verdict], wrong: dict[str, list[str]], took: dict[str, float]) -> None:
    print(f"{'scenario':34} {'cause':15} judged  place    cost   saved  error", file=sys.stderr)
    for one in verdicts:
        error = "" if one.error is None else f"{one.error:6.0%}"
        print(
            f"{one.name:34} {one.cause:15} {'yes' if one.is_judged else 'no':6} {one.place or '-':>6} "
            f"{one.cost:7.1f} {one.saved:7.1f} {error}",
            file=sys.stderr,
        )
        for sentence in one.sentences[:3] if one.place != 1 else ():
            print(f"    {sentence}", file=sys.stderr)
    for name, sentences in wrong.items():
        print(f"{name:34} healthy, {took[name]:.1f} s: {len(sentences)} findings", file=sys.stderr)
        for sentence in sentences:
            print(f"    {sentence}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
