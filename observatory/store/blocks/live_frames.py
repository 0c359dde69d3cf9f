"""Frames of live blocks: their size, and the Channels group of a cluster's open pages, which get them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

FRAME_BYTES = 1_000_000
CHANNEL_PREFIX = "observatory"
"""of the channel layer's channels in Redis"""


def group_of(cluster: int) -> str:
    """The Channels group of a cluster's open pages. Its messages: {"type": "live.frame", "data": bytes}."""
    return f"cluster.{cluster}"


def channel_of(cluster: int) -> str:
    """The Redis channel of `group_of`, as the pub/sub layer of channels_redis names it."""
    return f"{CHANNEL_PREFIX}__group__{group_of(cluster)}"


def joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts in order, joined to frames of at most FRAME_BYTES, or one part where that is longer."""
    frame: list[bytes] = []
    size = 0
    for part in parts:
        if frame and size + len(part) > FRAME_BYTES:
            yield b"".join(frame)
            frame, size = [], 0
        frame.append(part)
        size += len(part)
    if frame:
        yield b"".join(frame)
