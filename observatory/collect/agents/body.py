"""The body of an agent's request: read in parts, and bounded before and after it is unpacked."""

from __future__ import annotations

import zlib

from django.http import HttpRequest

COMPRESSED = 16 * 2**20
UNPACKED = 128 * 2**20
PART = 1 << 18
WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class BodyError(ValueError):
    """A body that isn't taken; with the status to answer and what is wrong."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def read_body(request: HttpRequest) -> bytes:
    """The unpacked body. Raises BodyError."""
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
        return bytes(data)
    try:
        return _unpack(bytes(data), WINDOW[encoding])
    except zlib.error as error:
        raise BodyError(400, f"the body isn't {encoding}: {error}") from None


def _unpack(data: bytes, window: int) -> bytes:
    """gzip may come in several members, one behind the other."""
    unpacked = bytearray()
    while data:
        member = zlib.decompressobj(window)
        unpacked += member.decompress(data, UNPACKED + 1 - len(unpacked))
        if len(unpacked) > UNPACKED:
            raise _too_large(UNPACKED, "unpacked")
        if not member.eof:
            raise BodyError(400, "the body ends too early")
        data = member.unused_data
    return bytes(unpacked)


def _too_large(limit: int, what: str) -> BodyError:
    return BodyError(413, f"the body has more than {limit >> 20} MiB {what}")
