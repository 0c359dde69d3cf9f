"""Dask clusters that scans use, and how many parts of files their workers have read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import LocalCluster, SchedulerPlugin

from observatory.store.archive.scans import on_dask

QUIET = {"silence_logs": "CRITICAL", "dashboard_address": "127.0.0.1:0"}
WORKERS = {"n_workers": 2, "threads_per_worker": 2, **QUIET}


class Finished(SchedulerPlugin):
    """Counts the parts of files that workers have read."""

    name = "finished"

    def __init__(self) -> None:
        self.number = 0

    def transition(self, key: str, start: str, finish: str, *args: Any, **options: Any) -> None:
        self.number += finish == "memory" and str(key).startswith(on_dask.NAME)


@contextmanager
def dask_cluster() -> Iterator[LocalCluster]:
    with LocalCluster(**WORKERS) as cluster:
        cluster.scheduler.add_plugin(Finished())
        yield cluster


def scanned_there(cluster: LocalCluster) -> int:
    plugin = cluster.scheduler.plugins["finished"]
    assert isinstance(plugin, Finished)
    return plugin.number
