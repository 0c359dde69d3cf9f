"""Finds runs that took longer than earlier runs of the same name, by more than these vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from observatory.comparison.deviation import deviation_of


@dataclass(frozen=True, slots=True)
class Slowdown:
    seconds: float
    usual: float
    """seconds: median of the earlier runs since their last change point"""


def slowdown_of(seconds: float, before: Sequence[float]) -> Slowdown | None:
    """Compares a duration with those of earlier runs, oldest first."""
    found = deviation_of(seconds, before)
    is_slower = found is not None and found.is_unusual and seconds > found.usual
    return Slowdown(seconds, found.usual) if found and is_slower else None
