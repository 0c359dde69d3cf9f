"""The body of an agent's request: read in parts, and bounded before and after it is unpacked."""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass

from django.http import HttpRequest

COMPRESSED = 16 * 2**20
UNPACKED = 32 * 2**20
MAXIMUM_RATIO = 64
"""unpacked to compressed bytes; real batches reach 30"""
MAXIMUM_MEMBERS = 100
"""gzip members, each of which copies what follows it; an agent sends four"""
FREE = 8 * 2**20
"""bytes that any body may unpack to: twice an agent's largest batch"""
PART_BYTES = 1 << 18
WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class BodyError(ValueError):
    """A body that isn't taken; with the status to answer and what is wrong."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Body:
    data: bytes | bytearray
    """unpacked"""
    sent: int
    """bytes as they were received"""


def length_of(request: HttpRequest) -> int:
    """The bytes that are sent; without a length it counts as the longest."""
    length = request.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() and len(length) < 19 else COMPRESSED


def read_body(request: HttpRequest) -> Body:
    """Reads and unpacks the body. Raises BodyError."""
    encoding = encoding_of(request.headers.get("Content-Encoding", ""))
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > COMPRESSED:
        raise _too_large(COMPRESSED, "sent")
    parts: deque[bytes] = deque()
    sent = 0
    while part := request.read(PART_BYTES):
        parts.append(part)
        sent += len(part)
        if sent > COMPRESSED:
            raise _too_large(COMPRESSED, "sent")
    return unpacked_body(parts, encoding)


def encoding_of(header: str) -> str:
    """The encoding that a Content-Encoding says. Raises BodyError."""
    encoding = header.strip().lower() or "identity"
    if encoding not in ("identity", *WINDOW):
        raise BodyError(415, f"Content-Encoding {encoding[:50]!r} isn't known: gzip, deflate or none")
    return encoding


def unpacked_body(parts: deque[bytes], encoding: str) -> Body:
    """Unpacks the parts of a body, and frees each of them. Raises BodyError."""
    sent = sum(map(len, parts))
    if encoding == "identity":
        return Body(_joined(parts), sent)
    try:
        return Body(unpack(parts, WINDOW[encoding]), sent)
    except zlib.error as error:
        raise BodyError(400, f"the body isn't {encoding}: {error}") from None


def _joined(parts: deque[bytes]) -> bytearray:
    """Each part is freed as it is taken."""
    joined = bytearray()
    while parts:
        joined += parts.popleft()
    return joined


def unpack(parts: deque[bytes], window: int) -> bytearray:
    """Unpacks the parts and frees each of them; gzip may come in several members, one behind the other.

    Raises BodyError, and zlib.error for what isn't compressed.
    """
    limit = min(UNPACKED, max(FREE, MAXIMUM_RATIO * sum(map(len, parts))))
    unpacked = bytearray()
    member, members = zlib.decompressobj(window), 1
    while parts:
        data = parts.popleft()
        while data:
            if member.eof:
                member, members = zlib.decompressobj(window), members + 1
                if members > MAXIMUM_MEMBERS:
                    raise BodyError(400, f"the body has more than {MAXIMUM_MEMBERS} gzip members")
            found = member.decompress(data, PART_BYTES)
            while found:
                unpacked += found
                if len(unpacked) > UNPACKED:
                    raise _too_large(UNPACKED, "unpacked")
                if len(unpacked) > limit:
                    raise BodyError(413, f"the body unpacks to more than {MAXIMUM_RATIO} times its size")
                # at the end of a member, what follows it can be in its unconsumed tail as well
                found = b"" if member.eof else member.decompress(member.unconsumed_tail, PART_BYTES)
            data = member.unused_data
    if not member.eof:
        raise BodyError(400, "the body ends too early")
    return unpacked


def _too_large(limit: int, what: str) -> BodyError:
    return BodyError(413, f"the body has more than {limit >> 20} MiB {what}")
