"""The body of an agent's request: read in parts, and bounded before and after it is unpacked."""

from __future__ import annotations

import zlib
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
PART = 1 << 18
WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class BodyError(ValueError):
    """A body that isn't taken; with the status to answer and what is wrong."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Body:
    data: bytes
    """unpacked"""
    sent: int
    """bytes as they were received"""


def read_body(request: HttpRequest) -> Body:
    """Reads and unpacks the body. Raises BodyError."""
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", *WINDOW):
        raise BodyError(415, f"Content-Encoding {encoding[:50]!r} isn't known: gzip, deflate or none")
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > COMPRESSED:
        raise _too_large(COMPRESSED, "sent")
    data = bytearray()
    while part := request.read(PART):
        data += part
        if len(data) > COMPRESSED:
            raise _too_large(COMPRESSED, "sent")
    if encoding == "identity":
        return Body(bytes(data), len(data))
    try:
        return Body(_unpack(bytes(data), WINDOW[encoding]), len(data))
    except zlib.error as error:
        raise BodyError(400, f"the body isn't {encoding}: {error}") from None


def _unpack(data: bytes, window: int) -> bytes:
    """gzip may come in several members, one behind the other."""
    limit = min(UNPACKED, max(FREE, MAXIMUM_RATIO * len(data)))
    unpacked = bytearray()
    for _ in range(MAXIMUM_MEMBERS):
        member = zlib.decompressobj(window)
        unpacked += member.decompress(data, limit + 1 - len(unpacked))
        if len(unpacked) > UNPACKED:
            raise _too_large(UNPACKED, "unpacked")
        if len(unpacked) > limit:
            raise BodyError(413, f"the body unpacks to more than {MAXIMUM_RATIO} times its size")
        if not member.eof:
            raise BodyError(400, "the body ends too early")
        data = member.unused_data
        if not data:
            return bytes(unpacked)
    raise BodyError(400, f"the body has more than {MAXIMUM_MEMBERS} gzip members")


def _too_large(limit: int, what: str) -> BodyError:
    return BodyError(413, f"the body has more than {limit >> 20} MiB {what}")
