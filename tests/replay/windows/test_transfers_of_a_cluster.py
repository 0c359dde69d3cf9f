"""The bytes that a real cluster moved, compared with the size of what its task needed."""

from __future__ import annotations

from dask.sizeof import sizeof

from observatory.replay.windows.outliers import outliers_of
from observatory.replay.windows.transfers import transfers_of
from observatory.runs.refresh import refresh_figures
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from tests.support.observed_cluster import Observed, agent_server, observed
from tests.support.observed_tasks import make
from tests.support.projects import world

__all__ = ["agent_server", "observed", "world"]

MOVED = sizeof(make(5_000_000))
"""what the task `len` of tests/support/observed_tasks.py fetched; its own result is a number"""


def test_bytes_moved_are_those_of_the_data_and_not_of_the_waiting_tasks_result(observed: Observed) -> None:
    with read_connection() as connection:
        found = transfers_of(connection, observed.scope, 0, MAXIMUM_TIME)
        outliers = outliers_of(connection, observed.scope, 0, MAXIMUM_TIME - 1)
    assert (found["total"]["count"], found["total"]["nbytes"], found["total"]["unsized"]) == (1, MOVED, 0)
    [largest] = found["largest"]
    assert largest["keys"] == [{"key": "make-1", "nbytes": MOVED}]
    assert largest["waiting"].startswith("len-")
    received = {row["worker"]: row["received"] for row in outliers["workers"] if row["received"]}
    assert received == {largest["receiver"]: MOVED}
    refresh_figures(observed.run)
    assert observed.run.figures["transferred"] == MOVED
