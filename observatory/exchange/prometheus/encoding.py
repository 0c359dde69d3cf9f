"""Encodes samples as protobuf with numpy, and answers as snappy in pieces.

Messages of the library would take 120 bytes for each sample: a day of 1,000 series has six million.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cramjam
import numpy as np
import numpy.typing as npt

from observatory.collect.prometheus.messages_pb2 import Label

Array = npt.NDArray[Any]
Labels = tuple[tuple[str, str], ...]
"""sorted by name"""

TIME_BYTES = 6
"""of a varint, which has 7 bits each: milliseconds until the year 2109"""
SAMPLE = np.dtype(
    [
        ("field", "u1"),
        ("length", "u1"),
        ("value field", "u1"),
        ("value", "<f8"),
        ("time field", "u1"),
        ("time", "u1", TIME_BYTES),
    ]
)
"""a sample in its series: field 2 of 16 bytes, with value (field 1, a double) and time (field 2, a varint)"""
FIELD_1, FIELD_2 = 0x0A, 0x12
"""of type bytes"""
VALUE_FIELD, TIME_FIELD = 0x09, 0x10


class Snappy:
    """A message that is compressed piece by piece: copies refer to what is before them in their piece."""

    def __init__(self) -> None:
        self.length = 0
        """of what is compressed"""
        self.pieces: list[bytes] = []

    def add(self, data: bytes) -> None:
        if data:
            self.length += len(data)
            self.pieces.append(bytes(cramjam.snappy.compress_raw(data))[len(varint(len(data))) :])

    def joined(self) -> bytes:
        return b"".join([varint(self.length), *self.pieces])


def encode_series(labels: Labels, samples: bytes) -> bytes:
    """A series (field 1 of a result) with its encoded samples."""
    head = b"".join(
        field(FIELD_1, Label(name=name, value=value).SerializeToString()) for name, value in labels
    )
    return field(FIELD_1, head + samples)


def encode_samples(times: Array, values: Array) -> Array:
    """A row of SAMPLE for each; `times` are milliseconds."""
    rows = np.empty(len(times), SAMPLE)
    rows["field"], rows["length"] = FIELD_2, SAMPLE.itemsize - 2
    rows["value field"], rows["value"], rows["time field"] = VALUE_FIELD, values, TIME_FIELD
    for place in range(TIME_BYTES):
        continued = 0x80 if place < TIME_BYTES - 1 else 0
        rows["time"][:, place] = (times >> 7 * place) & 0x7F | continued
    return rows


def field(number: int, data: bytes) -> bytes:
    return bytes([number]) + varint(len(data)) + data


def head_of(number: int, length: int) -> bytes:
    """What precedes the data of a field."""
    return bytes([number]) + varint(length)


def varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def answer_of(results: Iterable[Snappy]) -> bytes:
    """A ReadResponse of results, each of which is field 1."""
    answer = Snappy()
    for result in results:
        answer.add(head_of(FIELD_1, result.length))
        answer.pieces += result.pieces
        answer.length += result.length
    return answer.joined()
