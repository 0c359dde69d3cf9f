"""What one query may use, and what is said of it in both processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Of time, memory, rows that are read from the tables, and the result."""

    seconds: int
    """that reading takes, and the query again"""
    memory: int
    """MiB"""
    rows_read: int
    rows: int
    """of the result"""


LONGEST_QUERY = 20_000
"""characters"""
OF_REQUEST = Limits(seconds=30, memory=256, rows_read=2_000_000, rows=100_000)
"""of a request, which a process of web answers"""
OF_COMMAND = Limits(seconds=600, memory=1024, rows_read=50_000_000, rows=10_000_000)
RESULT = "result.arrow"
"""the file in a query's folder"""
TOO_MUCH_MEMORY = (
    "The query takes more memory than it may: group or filter earlier, or choose a shorter window."
)
