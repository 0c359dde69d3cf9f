"""The part of a window that can be explained at once."""

from __future__ import annotations

from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.sums import recorded_part
from observatory.store.queries.windows.row_counts import has_more_spans

Item = dict[str, Any]
"""an answer of the API, or a part of one"""
MOST_SPANS = 300_000
"""actions of tasks that are accounted for at once"""


class TooManyTasks(ValueError):
    """The window has more tasks than are accounted for at once."""

    def __init__(self, what: str = f"{MOST_SPANS:,} actions of tasks") -> None:
        super().__init__(
            f"This window has over {what}. Choose a shorter one: drag in the overview, or zoom with Ctrl "
            "and the wheel."
        )


def readable_part(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, most: int | None = None
) -> tuple[int, int]:
    """Return the part of [after, before) that was recorded (microseconds).

    Raises TooManyTasks where it has over `most` actions of tasks, by default MOST_SPANS.
    """
    start, stop = recorded_part(connection, scope, after, before)
    if has_more_spans(connection, scope.cluster.pk, start, stop, None, most or MOST_SPANS):
        raise TooManyTasks
    return start, stop
