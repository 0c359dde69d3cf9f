"""When simulated tasks end that have seceded, and wait for the tasks that they gave to the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from observatory.why.what_if.recorded.reactions import Rest

Ending = tuple[int, int, int, float]
"""place, number of the worker and its life, seconds until it ends"""


class SecededEnds:
    def __init__(self, rests: Mapping[int, Rest]) -> None:
        self._rests = rests
        self._open = {place: set(rest.children) for place, rest in rests.items()}
        self._outside: dict[int, tuple[int, int]] = {}
        """the worker, and its life, of each that has left its thread"""
        self._waiting: dict[int, list[int]] = {}
        for place, rest in rests.items():
            for child in rest.children:
                self._waiting.setdefault(child, []).append(place)

    def waits(self, place: int) -> bool:
        return place in self._rests

    def left(self, place: int, number: int, life: int) -> Iterator[Ending]:
        """It has left its thread. Yields it, if it ends without a further task."""
        self._outside[place] = number, life
        if not self._open[place]:
            yield place, number, life, self._rests[place].seconds

    def ended(self, child: int) -> Iterator[Ending]:
        """A task has ended. Yields those that waited for no other one."""
        for place in self._waiting.get(child, ()):
            self._open[place].discard(child)
            if not self._open[place] and place in self._outside:
                yield place, *self._outside.pop(place), self._rests[place].seconds
