"""Asks the Bloom filters of Parquet files, which pyarrow writes but does not read.

They are split block filters of XXH64 hashes: https://parquet.apache.org/docs/file-format/bloomfilter/
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

BLOCK = 32
"""bytes"""
SALTS = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)
REMEMBERED_TEXTS = 2_000
"""whose hashes are: each row group's filter is asked for the same"""
MASK = 2**64 - 1
PRIME_1, PRIME_2, PRIME_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
PRIME_4, PRIME_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def may_have_any(stream: pa.NativeFile, column: pq.ColumnChunkMetaData, values: Iterable[str]) -> bool:
    """Whether a column of a row group can have one of some values; True where it has no filter.

    Raises OSError.
    """
    offset, length = column.bloom_filter_offset, column.bloom_filter_length
    if offset is None or length is None:
        return True
    size = 1 << (length.bit_length() - 1)  # of the bits, a power of two; a header is before them
    if length - size >= BLOCK:
        return True
    found = stream.read_at(length, offset)
    if not found.startswith(_start_of_header(size)):
        raise OSError("a filter is damaged")
    blocks = found[length - size :]
    return any(_is_in(blocks, xxh64(value.encode())) for value in values)


def _start_of_header(size: int) -> bytes:
    """The first field, in Thrift's compact protocol: the number of bytes."""
    number, digits = 2 * size, []
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([0x15, *digits, number])


def _is_in(blocks: bytes, hashed: int) -> bool:
    place = (hashed >> 32) * (len(blocks) // BLOCK) >> 32
    words = struct.unpack_from("<8I", blocks, place * BLOCK)
    low = hashed & 0xFFFFFFFF
    return all(word >> ((low * salt & 0xFFFFFFFF) >> 27) & 1 for word, salt in zip(words, SALTS, strict=True))


@lru_cache(REMEMBERED_TEXTS)
def xxh64(data: bytes) -> int:
    """The 64-bit XXHash of some bytes, with the seed 0."""
    size, place = len(data), 0
    if size >= 32:
        lanes = [(PRIME_1 + PRIME_2) & MASK, PRIME_2, 0, -PRIME_1 & MASK]
        while place + 32 <= size:
            values = struct.unpack_from("<4Q", data, place)
            lanes = [_round(lane, value) for lane, value in zip(lanes, values, strict=True)]
            place += 32
        found = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            found = ((found ^ _round(0, lane)) * PRIME_1 + PRIME_4) & MASK
    else:
        found = PRIME_5
    found = (found + size) & MASK
    while place + 8 <= size:
        (value,) = struct.unpack_from("<Q", data, place)
        found = (_rotated(found ^ _round(0, value), 27) * PRIME_1 + PRIME_4) & MASK
        place += 8
    if place + 4 <= size:
        (value,) = struct.unpack_from("<I", data, place)
        found = (_rotated(found ^ value * PRIME_1 & MASK, 23) * PRIME_2 + PRIME_3) & MASK
        place += 4
    for byte in data[place:]:
        found = _rotated(found ^ byte * PRIME_5 & MASK, 11) * PRIME_1 & MASK
    found = (found ^ found >> 33) * PRIME_2 & MASK
    found = (found ^ found >> 29) * PRIME_3 & MASK
    return found ^ found >> 32


def _round(lane: int, value: int) -> int:
    return _rotated((lane + value * PRIME_2) & MASK, 31) * PRIME_1 & MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & MASK
