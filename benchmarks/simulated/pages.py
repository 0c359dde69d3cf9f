"""Pages of /metrics for any worker at any time, from the recorded pages of one."""

from __future__ import annotations

from itertools import pairwise


class Pages:
    """Repeats recorded pages of /metrics endlessly: counters go on growing, gauges go on varying."""

    def __init__(self, recorded: list[str]) -> None:
        self.turns = len(recorded)
        read = [[line.rpartition(" ") for line in page.splitlines()] for page in recorded]
        self.lines = recorded[0].splitlines()
        self.varying: list[tuple[int, str, list[float], float]] = []
        """(line, its text before the value, values by page, growth over all pages or 0)"""
        for number, (head, _, _) in enumerate(read[0]):
            texts = [page[number][2] for page in read]
            if head.startswith("#") or len(set(texts)) == 1:
                continue
            values = [float(value) for value in texts]
            grows = all(one <= other for one, other in pairwise(values))
            self.varying.append((number, head, values, values[-1] - values[0] if grows else 0.0))

    def page(self, turn: int, scale: float) -> bytes:
        """Return a page; varying values are multiplied by `scale`, which differs by worker."""
        rounds, recorded = divmod(turn, self.turns)
        lines = self.lines.copy()
        for number, head, values, growth in self.varying:
            lines[number] = f"{head} {(values[recorded] + rounds * growth) * scale!r}"
        return ("\n".join(lines) + "\n").encode()
