"""The process of a worker, which others can share: with it, SQL counts each process once."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, LiteralString

from observatory.wire.workers.processes import PROCESS as KEY

PROCESS: LiteralString = "coalesce(nullif(worker.detail->>'process', ''), worker.id::text)"
"""workers of a cluster with the same text share a process"""


def process_number(detail: Any) -> int | None:
    """Return a number that workers in one process have in common, of a worker's JSON object `detail`.

    It tells nothing of the process. None: no other worker is known to share it.
    """
    process = detail.get(KEY) if isinstance(detail, Mapping) else None
    return zlib.crc32(process.encode()) if isinstance(process, str) and process else None
