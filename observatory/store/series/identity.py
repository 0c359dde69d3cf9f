"""The unique key of a series in its cluster, whatever the length of its labels."""

from __future__ import annotations

import hashlib
from json.encoder import encode_basestring_ascii as quoted
from uuid import UUID


def series_identity(worker: int, metric: str, labels: str) -> UUID:
    """Of a clean metric and labels; worker 0: the scheduler or the cluster."""
    text = f"[{worker},{quoted(metric)},{quoted(labels)}]"  # JSON, for a fifth of its encoder's time
    return UUID(bytes=hashlib.blake2b(text.encode(), digest_size=16).digest())
