"""Log lines of an outage of the database: one line for each failure, without a traceback."""

from __future__ import annotations

import logging


class OutageFilter(logging.Filter):
    """Takes the traceback from a record whose exception says that the database serves nobody now."""

    def filter(self, record: logging.LogRecord) -> bool:
        from observatory.store.connection import is_unavailable

        if record.exc_info and is_unavailable(record.exc_info[1]):
            record.exc_info = None
        return True
