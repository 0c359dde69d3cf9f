"""Whether the tab Why? finds the cause of real workloads that are slow or fail.

Each scenario of tests/why/scenarios runs on a LocalCluster of processes with an agent, once with its cause
and once without it. What the cause costs is the difference; the finding's cost in wall time is compared with
it. Half of the scenarios were not used to build the detectors: these are judged. Healthy workloads run once.
Prints a table to standard error and one JSON line; the exit code is 1 if a limit was missed. ONLY names the
scenarios to run, by parts of their names, separated by commas. With `--unprepared` half of the workloads of
benchmarks/unprepared, which nobody had seen who wrote the detectors, is judged instead.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from distributed import Client

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.explaining.recording import read_answers, record  # noqa: E402
from benchmarks.explaining.verdicts import Verdict, results_of, verdict  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.measuring.server import new_observatory  # noqa: E402
from benchmarks.unprepared.bug_reports import bug_reports_half  # noqa: E402
from benchmarks.unprepared.forum_questions import forum_questions_half  # noqa: E402
from benchmarks.unprepared.halves import half  # noqa: E402
from benchmarks.unprepared.issues import ISSUES  # noqa: E402
from benchmarks.unprepared.judging import judge  # noqa: E402
from benchmarks.unprepared.later import LATER  # noqa: E402
from benchmarks.unprepared.mixed import mixed_half  # noqa: E402
from benchmarks.unprepared.reported import reported_half  # noqa: E402
from benchmarks.unprepared.shapes import SHAPES  # noqa: E402
from benchmarks.unprepared.strange import strange_half  # noqa: E402
from benchmarks.unprepared.waiting import waiting_half  # noqa: E402
from benchmarks.unprepared.waits_elsewhere import elsewhere_half  # noqa: E402
from benchmarks.unprepared.workload import Workload  # noqa: E402
from tests.why.scenarios import graphs, seeded, waiting  # noqa: E402, F401 (registers them)
from tests.why.scenarios.healthy import HEALTHY  # noqa: E402
from tests.why.scenarios.scenario import SEEDED, Scenario  # noqa: E402
from tests.why.scenarios.tasks import AsIfTheyComputed  # noqa: E402

MIXED: dict[int, tuple[Callable[[int], list[Workload]], str]] = {
    1: (mixed_half, "work of mixed shapes"),
    4: (reported_half, "work that people report"),
    6: (waiting_half, "work that waits"),
    8: (strange_half, "strange work"),
    10: (elsewhere_half, "work that waits elsewhere"),
    12: (bug_reports_half, "work in the shapes of bug reports"),
    14: (forum_questions_half, "work in the shapes of forum questions"),
}
"""sets of two halves, by the number of the first one"""
MOST_OFF = 1e-5
"""of what adds up: times are rounded to microseconds"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--unprepared",
        choices=("1", "2", "later", "issues", *(f"mixed-{number}" for number in range(1, 16))),
        help="judge this half of benchmarks/unprepared, or those that were written after it",
    )
    parser.add_argument(
        "--twins", type=int, default=3, help="runs of an unprepared workload without its causes"
    )
    asked = parser.parse_args()
    if asked.unprepared:
        all_of_them, which = _unprepared(asked.unprepared)
        return judge([one for one in all_of_them if _is_wanted(one.name, _only())], which, asked.twins)
    return _judge_scenarios()


def _unprepared(which: str) -> tuple[list[Workload], str]:
    """The workloads, and what they are."""
    if which == "later":
        return LATER, "work that was written later"
    if which == "issues":
        return ISSUES, "work that people ask about"
    if which == "mixed-3":
        return SHAPES, "work of further shapes"
    if which.startswith("mixed-"):
        number = int(which.removeprefix("mixed-"))
        first = max(one for one in MIXED if one <= number)
        half_of_set, what = MIXED[first]
        number += 1 - first
        return half_of_set(number), f"half {number} of {what}"
    return half(int(which)), f"half {which} of unprepared work"


def _only() -> list[str]:
    return [part for part in os.environ.get("ONLY", "").split(",") if part]


def _judge_scenarios() -> int:
    only = _only()
    seeded_ones = [one for name, one in SEEDED.items() if _is_wanted(name, only)]
    healthy_ones = {name: work for name, work in HEALTHY.items() if _is_wanted(name, only)}
    took: dict[str, float] = {}
    with new_observatory() as (server, token):
        for one in seeded_ones:
            for has_cause in (True, False):
                name = _name(one.name, has_cause)
                took[name] = record(
                    server,
                    token,
                    name,
                    partial(_work, one, has_cause),
                    one.options,
                    AsIfTheyComputed() if one.is_computing else None,
                )
        for name, work in healthy_ones.items():
            took[name] = record(server, token, name, work, {}, AsIfTheyComputed())
        answers = read_answers(server)
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
