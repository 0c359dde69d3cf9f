"""Compares each number that pages show of a run with what the independent recorder saw."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.figuring.expected import AROUND, Recorded

PRECISION = 1e-5
"""seconds: the store's is a microsecond, at both ends of a span"""
CLOSE = 0.1
"""seconds around an instant, in which the two recorders can have seen a change of state"""
MIB = 1 << 20
LATE, ROUNDED = 0.1, 2.3e-4
"""seconds by which clocks differ; share by which agents and tiles round values, and what is nothing"""
FEWEST, LEAST_SHARE, LIKE = 100, 0.2, 0.15
"""samples from which on shares are compared, the least share, and by how much two profilers may differ"""
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """A number on a page, and what it must be."""

    run: str
    place: str
    """the card or a tab"""
    figure: str
    """in general: “median of a prefix”"""
    of: str
    """what it is of"""
    shown: Any
    expected: Any
    agrees: bool

    @property
    def what(self) -> str:
        return f"{self.figure} {self.of}".strip()


def compare(run: str, answers: Answer, recorded: Recorded) -> Iterator[Compared]:
    for part in (_card, _tasks, _workers, _progress, _transfers, _memory, _contention, _profile):
        for place, figure, of, shown, expected, agrees in part(answers, recorded):
            yield Compared(run, place, figure, of, shown, expected, agrees)


Row = tuple[str, str, str, Any, Any, bool]


def _equal(place: str, figure: str, of: str, shown: Any, expected: Any) -> Row:
    return place, figure, of, shown, expected, shown == expected


def _close(place: str, figure: str, of: str, shown: float | None, expected: float, within: float) -> Row:
    agrees = shown is not None and abs(shown - expected) <= within
    return place, figure, of, shown, expected, agrees


def _card(answers: Answer, recorded: Recorded) -> Iterator[Row]:
    card, place = answers["card"], "Card"
    computed = recorded.computations()
    count = sum(map(len, computed.values()))
    yield _equal(place, "tasks (computations)", "", card["tasks"], count)
    yield _equal(place, "errors", "", card["errors"], recorded.errors())
    yield _equal(place, "errors on the Errors page", "", answers["errors"], recorded.errors())
    progress = recorded.progress(recorded.stop)
    for name in ("done", "erred", "left"):
        expected = sum(counts[name] for counts in progress.values())
        yield _equal(place, f"tasks that are {name}", "", (card["progress"] or {}).get(name), expected)
    yield _equal(place, "workers", "", card["workers"], len(recorded.slots()))
    yield _equal(place, "lifetimes of workers", "", card["lifetimes"], recorded.lifetimes())
    yield _equal(place, "threads", "", card["threads"], recorded.most_at_a_time("threads"))
    yield _equal(place, "memory limit", "", card["memory_limit"], recorded.most_at_a_time("limit"))
    yield _equal(place, "bytes transferred", "", card["transferred"], sum(recorded.transfers()[0].values()))
    for name, actions in (
        ("compute", ("compute",)),
        ("transfer", ("transfer",)),
        ("disk", ("disk-read", "disk-write")),
        ("serialize", ("serialize", "deserialize")),
    ):
        shown = next((time["seconds"] for time in card["times"] if time["name"] == name), None)
        yield _close(
            place, "seconds of an action", name, shown, recorded.seconds(*actions), PRECISION * (count + 10)
        )
    seconds = recorded.computing()
    for prefix in card["prefixes"]:
        name = prefix["name"]
        yield from _durations(place, prefix, computed.get(name, []), seconds[name])


def _durations(place: str, shown: Answer, durations: list[float], seconds: float) -> Iterator[Row]:
    name, count = shown["name"], len(durations)
    yield _equal(place, "tasks of a prefix", name, shown["tasks"], count)
    yield _close(place, "time of a prefix", name, shown["seconds"], seconds, PRECISION * (count + 1))
    if durations:
        expected = {
            "shortest": min(durations),
            "median": float(np.median(durations)),
            "p95": float(np.quantile(durations, 0.95)),
            "longest": max(durations),
        }
        for figure, value in expected.items():
            yield _close(place, f"{figure} of a prefix", name, shown[figure], value, PRECISION)


def _tasks(answers: Answer, recorded: Recorded) -> Iterator[Row]:
    computed, nbytes = recorded.computations(), recorded.nbytes()
    seconds = recorded.computing()
    shown = {prefix["name"]: prefix for prefix in answers["prefixes"]["prefixes"] if prefix["tasks"]}
    yield _equal("Tasks", "prefixes", "", sorted(shown), sorted(computed))
    for name in sorted(shown.keys() & computed.keys()):
        yield from _durations("Tasks", shown[name], computed[name], seconds[name])
        yield _equal("Tasks", "bytes of a prefix", name, shown[name]["nbytes"], nbytes[name])


def _workers(answers: Answer, recorded: Recorded) -> Iterator[Row]:
    lifetimes = answers["lanes"]["workers"]
    there = [one for one in lifetimes if one["ended"] is None or one["ended"] > recorded.start]
    yield _equal("Workers", "rows", "", len({one["slot"] for one in there}), len(recorded.slots()))
    yield _equal("Workers", "lifetimes", "", len(there), recorded.lifetimes())
    for state in answers["states"]:
        names = sorted(
            one["address"] for one in there if one["id"] in {each["id"] for each in state["workers"]}
        )
        yield _equal("Workers", "workers at an instant", _at(state), names, recorded.there(state["at"]))


def _progress(answers: Answer, recorded: Recorded) -> Iterator[Row]:
    for state in answers["states"]:
        # both write the time of a change of state as they see it, one after the other
        before, expected, after = (recorded.progress(state["at"] + late) for late in (-CLOSE, 0, CLOSE))
        shown = {row["name"]: row for row in state["progress"]}
        for name in sorted(shown.keys() | expected.keys()):
            row = shown.get(name, {"done": 0, "erred": 0, "total": 0})
            of = f"{name} {_at(state)}"
            for figure in ("done", "erred", "total"):
                counts = [_count(one.get(name), figure) for one in (before, expected, after)]
                agrees = row[figure] is not None and min(counts) <= row[figure] <= max(counts)
                yield "Progress", f"{figure} of a prefix at an instant", of, row[figure], counts[1], agrees


def _count(counts: Counter[str] | None, figure: str) -> int:
    if counts is None:
        return 0
    return counts.total() if figure == "total" else counts[figure]


def _transfers(answers: Answer, recorded: Recorded) -> Iterator[Row]:
    found = answers["transfers"]
    addresses = {one["id"]: one["address"] for one in answers["lanes"]["workers"]}
    places = [addresses.get(place["worker"], place["kind"]) for place in found["places"]]
    nbytes, count = recorded.transfers()
    yield _equal("Transfers", "bytes in all", "", found["total"]["nbytes"], sum(nbytes.values()))
    yield _equal("Transfers", "transfers in all", "", found["total"]["count"], sum(count.values()))
    exchanged = {
        shuffle["shuffle"]: amount["nbytes"]
        for shuffle in found["shuffles"]
        for amount in shuffle["amounts"]
        if amount["what"] == "exchanged"
    }
    shuffled = recorded.shuffled()
    for shuffle in sorted(exchanged.keys() | shuffled.keys()):
        of = f"of {shuffle}"
        yield _equal(
            "Transfers", "bytes of a shuffle", of, exchanged.get(shuffle, 0), shuffled.get(shuffle, 0)
        )
    cells = {(places[cell["sender"]], places[cell["receiver"]]): cell for cell in found["cells"]}
    for pair in sorted(cells.keys() | nbytes.keys()):
        cell = cells.get(pair, {"nbytes": 0, "count": 0})
        of = " → ".join(pair)
        yield _equal("Transfers", "bytes of a pair", of, cell["nbytes"], nbytes.get(pair, 0))
        yield _equal("Transfers", "transfers of a pair", of, cell["count"], count.get(pair, 0))


def _memory(answers: Answer, recorded: Recorded) -> Iterator[Row]:
    card, addresses = answers["card"], {one["id"]: one["address"] for one in answers["lanes"]["workers"]}
    for figure, field in (("peak_memory", "process"), ("peak_spilled", "spilled")):
        shown, (least, most) = card[figure] or 0, recorded.peak(field)
        agrees = least - MIB <= shown <= most + MIB
        yield "Memory", figure.replace("_", " of "), "", shown, (least, most), agrees
    for state in answers["states"]:
        for worker in state["workers"]:
            for field, value in (("process", worker["memory"]), ("spilled", worker["spilled"])):
                bounds = recorded.memory(addresses[worker["id"]], state["at"], field)
                if bounds is None or value is None:
                    continue
                least, most = bounds
                agrees = math.floor(least - MIB) <= value <= math.ceil(most + MIB)
                of = f"{addresses[worker['id']]} {_at(state)}"
                yield "Memory", f"{field} of a worker at an instant", of, value, bounds, agrees


def _contention(answers: Answer, recorded: Recorded) -> Iterator[Row]:
    """Each drawn sample has to be one that the worker's monitor took within an interval before."""
    for layer, figure, field in (
        ("gil", "GIL contention of a worker at an instant", "gil_contention"),
        ("cpu", "CPU of a worker at an instant", "cpu"),
    ):
        for address, at, value in answers["drawn"][layer]:
            taken = [of for time, of in recorded.monitored(address, field) if -LATE <= at - time <= AROUND]
            agrees = any(math.isclose(value, one, rel_tol=ROUNDED, abs_tol=ROUNDED) for one in taken)
            yield "Contention", figure, f"{address} at {at:.3f}", value, taken, agrees


def _profile(answers: Answer, recorded: Recorded) -> Iterator[Row]:
    """Samples are those that Dask's profiler took. Functions have the shares that another profiler saw."""
    shown, place = answers["profile"], "Profile"
    looked = recorded.profiled()
    for prefix in sorted(shown.keys() | looked.keys()):
        samples = shown.get(prefix, {"samples": 0})["samples"]
        yield _equal(place, "samples of a prefix", prefix, samples, looked.get(prefix, 0))
    samples, seen = recorded.functions()
    for (prefix, function), count in sorted(seen.items()):
        if prefix not in shown or min(samples[prefix], shown[prefix]["samples"]) < FEWEST:
            continue
        share = shown[prefix]["functions"].get(function, 0) / shown[prefix]["samples"]
        expected = count / samples[prefix]
        if max(share, expected) >= LEAST_SHARE:
            yield _close(
                place, "share of a function of a prefix", f"{function} of {prefix}", share, expected, LIKE
            )


def _at(state: Answer) -> str:
    return f"at {state['at']:.3f}"
