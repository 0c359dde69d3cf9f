"""Bounds what parsing the header of a block costs, before it is parsed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

CHUNK = 1 << 16
"""bytes of a header that are looked at together"""
VALUE, NAME = 72, 250
"""most bytes of memory of a value, and of a name with its value in an object, beside their characters"""
WIDEST = 4
"""bytes of a character in memory, if its text has one beyond Unicode's first 65,536"""


@dataclass(slots=True)
class Structure:
    """What a header consists of, as far as it was read."""

    containers: int = 0
    """JSON objects and lists"""
    values: int = 0
    """about: items of lists and objects"""
    names: int = 0
    """in objects"""
    is_wide: bool = False
    """whether its texts may have characters that take more than a byte in memory"""

    def memory(self, length: int) -> int:
        """An upper estimate of the bytes that parsing takes; `length` is the header's in bytes."""
        characters = length * (2 * WIDEST if self.is_wide else 2)  # as one text, and as parts of it
        return characters + VALUE * self.values + NAME * self.names


def structures(header: memoryview) -> Iterator[Structure]:
    """The structure of more and more of the header, so that reading it can stop early."""
    found = Structure()
    is_text, start = False, 0
    while start < len(header):
        chunk = bytes(header[start : start + CHUNK])
        backslashes = len(chunk) - len(chunk.rstrip(b"\\"))
        if backslashes % 2 and start + len(chunk) < len(header):
            chunk = chunk[:-1]  # it belongs to the next character
        start += len(chunk)
        found.is_wide = found.is_wide or not chunk.isascii() or b"\\u" in chunk
        # without escapes, each quote begins or ends a text
        parts = chunk.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[is_text::2])
        is_text ^= len(parts) % 2 == 0
        containers = outside.count(b"[") + outside.count(b"{")
        found.containers += containers
        found.values += containers + outside.count(b",")
        found.names += outside.count(b":")
        yield found
