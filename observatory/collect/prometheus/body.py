"""The body of a request of Prometheus: a message of protobuf, compressed by snappy."""

from __future__ import annotations

from typing import TypeVar

import cramjam
from django.http import HttpRequest
from google.protobuf.message import DecodeError, Message

from observatory.collect.agents.body import BodyError

Read = TypeVar("Read", bound=Message)


def read_message(request: HttpRequest, message: type[Read], most: int) -> tuple[Read, bytes]:
    """Returns the message and its body as it was sent; at most `most` bytes, also once it is unpacked.

    Raises BodyError.
    """
    content_type = request.headers.get("Content-Type", "").replace(" ", "").lower()
    kind, _, schema = content_type.partition(";")
    if kind != "application/x-protobuf" or "io.prometheus.write.v2" in schema:
        raise BodyError(415, f"Content-Type {content_type[:100]!r} isn't application/x-protobuf of version 1")
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding != "snappy":
        raise BodyError(415, f"Content-Encoding {encoding[:50]!r} isn't snappy")
    length = request.headers.get("Content-Length", "")
    body = b"" if length.isdecimal() and int(length) > most else request.read(most + 1)
    if len(body) > most or (length.isdecimal() and int(length) > most):
        raise BodyError(413, f"the body has more than {most >> 20} MiB")
    try:
        if cramjam.snappy.decompress_raw_len(body) > most:
            raise BodyError(413, f"the body unpacks to more than {most >> 20} MiB")
        data = bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise BodyError(400, f"the body isn't snappy: {str(error)[:100]}") from None
    found = message()
    try:
        found.ParseFromString(data)
    except DecodeError:
        raise BodyError(400, f"the body isn't a {message.DESCRIPTOR.name} of protobuf") from None
    return found, body
