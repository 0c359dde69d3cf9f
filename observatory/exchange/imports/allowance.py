"""What reading a file may cost: limits that grow with its size, so that a small file costs little."""

from __future__ import annotations

from observatory.exchange.imports.refusal import Refused

FREE_UNPACKED, MOST_RATIO = 64 * 2**20, 250
"""bytes that any file may unpack to, and the greatest ratio for more: samples of an idle cluster reach 250"""
FREE = {"rows": 50_000, "characters": 64_000_000, "containers": 100_000, "values": 200_000}
EACH_BYTE = {"rows": 16, "characters": 1_000, "containers": 4, "values": 16}
"""for each byte of the file as it was sent"""
TEXTS = {
    "rows": "more records than",
    "characters": "longer texts, counted once a record, than",
    "containers": "more JSON objects and lists than",
    "values": "more values than",
}


class Allowance:
    """Counts what a file of `size` bytes (packed) has taken so far."""

    def __init__(self, size: int) -> None:
        self.unpacked = max(FREE_UNPACKED, MOST_RATIO * size)
        """bytes"""
        self._left = {name: free + EACH_BYTE[name] * size for name, free in FREE.items()}

    def take(self, name: str, count: int) -> None:
        """Raises Refused if the file has more of a resource, a key of FREE, than its size allows."""
        self._left[name] -= count
        if self._left[name] < 0:
            raise Refused(f"It has {TEXTS[name]} a file of its size may have.")
