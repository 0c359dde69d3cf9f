"""Compares the prefixes of a run with those of others; significant differences come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Protocol

from observatory.comparison.run_summary import QUANTILES, PrefixSummary
from observatory.comparison.significance import LEVEL, Shift, adjusted, combined, shifts

LEAST_SHARE = 0.01
"""of the other runs' computing time: smaller differences of a prefix aren't flagged"""
MOST_PREFIXES = 500

Item = dict[str, Any]


class Summary(Protocol):
    """Of a run, or of some of its workers."""

    @property
    def prefixes(self) -> Mapping[str, PrefixSummary]:
        """by name"""


def compared_prefixes(a: Summary, others: Sequence[Summary], expected: float = 1.0) -> tuple[list[Item], int]:
    """The prefixes of `a` and the median of `others`, and the number of prefixes left out.

    `expected` is how many times the work of one of `others` that of `a` is, as `a` may be fewer workers.
    Sorted: significant differences by their cost, then prefixes of only one side, then by p.
    """
    found = combined([_shifts(a, b) for b in others])
    certainty = adjusted(found)
    computed = median([sum(each.seconds for each in run.prefixes.values()) for run in others])
    usual = computed * expected
    items = []
    for name in {name for run in (a, *others) for name in run.prefixes}:
        known = [run.prefixes[name] for run in others if name in run.prefixes]
        one, other = a.prefixes.get(name), known if 2 * len(known) > len(others) else []
        if one or other:
            item = _item(one, other, found.get(name), certainty.get(name))
            items.append({**item, "verdict": _verdict(item, usual)})
    items.sort(key=_place)
    return items[:MOST_PREFIXES], len(items[MOST_PREFIXES:])


def _shifts(a: Summary, b: Summary) -> dict[str, Shift]:
    one, other = ({name: each.blocks for name, each in run.prefixes.items()} for run in (a, b))
    return shifts(one, other)


def _item(
    one: PrefixSummary | None, others: Sequence[PrefixSummary], shift: Shift | None, p: float | None
) -> Item:
    known = [one, *others] if one else list(others)
    return {
        "name": known[0].name,
        "color": known[0].color,
        "a": _side([one] if one else []),
        "b": _side(others),
        "ratio": shift and shift.ratio,
        "others": shift and shift.others,
        "p": p,
        "cost": _cost(one, shift) if one and shift else None,
    }


def _cost(one: PrefixSummary, shift: Shift) -> float:
    """Seconds that its tasks took longer than at the median duration of the others."""
    usual = one.quantiles[QUANTILES.index(0.5)]
    return one.count * usual * (1 - 1 / shift.ratio)


def _side(known: Sequence[PrefixSummary]) -> Item | None:
    """The medians of a prefix over several runs; the shortest and the longest task are those of all."""
    if not known:
        return None
    histogram: dict[int, int] = {}
    for each in known:
        for bin, count in each.histogram.items():
            histogram[bin] = histogram.get(bin, 0) + count
    return {
        "count": median(each.count for each in known),
        "seconds": median(each.seconds for each in known),
        "shortest": min(each.shortest for each in known),
        "longest": max(each.longest for each in known),
        "quantiles": [median(values) for values in zip(*(each.quantiles for each in known), strict=True)],
        "histogram": sorted(histogram.items()),
        "nbytes": median(each.nbytes for each in known),
        "transfer_seconds": median(each.transfer_seconds for each in known),
    }


def _verdict(item: Item, usual: float) -> str:
    """slower, faster, only in a, only in b, too few tasks, or "" without a significant difference."""
    if item["a"] is None or item["b"] is None:
        return "only in b" if item["a"] is None else "only in a"
    if item["ratio"] is None:
        return "too few tasks"
    if item["p"] >= LEVEL or abs(item["cost"]) < LEAST_SHARE * usual:
        return ""
    return "slower" if item["ratio"] > 1 else "faster"


def _place(item: Item) -> tuple[Any, ...]:
    if item["verdict"] in ("slower", "faster"):
        return 0, -abs(item["cost"]), item["name"]
    seconds = max(side["seconds"] for side in (item["a"], item["b"]) if side)
    if item["verdict"] in ("only in a", "only in b"):
        return 1, -seconds, item["name"]
    return 2, 1.0 if item["p"] is None else item["p"], -seconds, item["name"]
