"""The pages of any worker at any time, made of those that one worker showed."""

from __future__ import annotations

from itertools import pairwise


class Pages:
    """A recorded endpoint's /metrics, going on for ever: what grew goes on growing, what varied varies."""

    def __init__(self, recorded: list[str]) -> None:
        self.turns = len(recorded)
        read = [[line.rpartition(" ") for line in page.splitlines()] for page in recorded]
        self.lines = recorded[0].splitlines()
        self.varying: list[tuple[int, str, list[float], float]] = []
        """(line, how it begins, its values by turn, by how much it grows in all of them; 0: it doesn't)"""
        for number, (head, _, _) in enumerate(read[0]):
            told = [page[number][2] for page in read]
            if head.startswith("#") or len(set(told)) == 1:
                continue
            values = [float(value) for value in told]
            grows = all(one <= other for one, other in pairwise(values))
            self.varying.append((number, head, values, values[-1] - values[0] if grows else 0.0))

    def page(self, turn: int, scale: float) -> bytes:
        """`scale` tells endpoints apart: every value that varies is multiplied by it."""
        rounds, place = divmod(turn, self.turns)
        lines = self.lines.copy()
        for number, head, values, growth in self.varying:
            lines[number] = f"{head} {(values[place] + rounds * growth) * scale!r}"
        return ("\n".join(lines) + "\n").encode()
