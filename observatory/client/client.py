"""An Observatory's clusters, runs and records as DataFrames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from observatory.client.connection import TIMEOUT, Connection, ObservatoryError
from observatory.client.findings import findings_frame
from observatory.client.memory import MemorySamples
from observatory.client.run import Run as ShownRun
from observatory.client.run import number_of
from observatory.client.shown import Cluster, Output
from observatory.wire.blocks import Block, decode

Run: TypeAlias = "int | Mapping[str, Any] | pd.Series"
"""its number, or a result of `run`, or a row of `runs`"""

PAGE_SIZE = 200
CLUSTER_MEMORY = "observatory_cluster_memory_bytes"
FRAMES = ("pandas", "polars")
MEASURES = ("process", "managed", "unmanaged", "spilled")
TASK_COLUMNS = ("key", "prefix", "time", "duration", "worker", "worker_name", "state", "error")
FINDING_COLUMNS = (
    *("kind", "is_failure", "sentence", "thread_seconds", "wall_seconds"),
    *("least_wall_seconds", "most_wall_seconds", "together_seconds", "facts", "moments"),
    *("tasks", "workers", "prefixes", "advice", "documentation", "mark"),
)
TIMES = ("time", "start", "stop", "created", "started", "last_seen", "ended")
"""columns of lists that are seconds since the epoch"""


class ObservatoryClient:
    """Reads with a personal access token, which is made at /account/tokens/.

    Times in DataFrames are in UTC, on the clock of the cluster's scheduler. Methods raise ObservatoryError.
    `frames`: DataFrames are those of pandas or of polars.
    """

    def __init__(self, url: str, token: str, timeout: float = TIMEOUT, *, frames: str = "pandas") -> None:
        if frames not in FRAMES:
            raise ValueError(f"frames is {frames!r}: there are {', '.join(FRAMES)}")
        self._connection = Connection(url, token, timeout)
        self._frames = frames

    def clusters(self, **filters: Any) -> pd.DataFrame:
        """The newest first; `filters` are those of GET /api/v1/clusters: search, state, project."""
        return self._returned(self._list("/clusters", filters))

    def runs(self, **filters: Any) -> pd.DataFrame:
        """The newest first; `filters` are those of GET /api/v1/runs: name, tag, user, outcome, since …"""
        return self._returned(self._list("/runs", filters))

    def usage(self, **filters: Any) -> pd.DataFrame:
        """A row for each day and group; `filters` are those of GET /api/v1/usage: since, until, by …

        Each currency has a column of costs, such as `cost_EUR`.
        """
        days = self._connection.json("/usage", **filters)["days"]
        for row in days:
            row |= {f"cost_{cost['currency']}": cost["amount"] for cost in row.pop("costs")}
        found = pd.DataFrame(days)
        return self._returned(found.assign(day=pd.to_datetime(found["day"])) if days else found)

    def search(self, text: str) -> dict[str, Any]:
        """Everything you may see with the text in its name, and of each cluster the newest tasks."""
        found: dict[str, Any] = self._connection.json("/search", q=text)
        return found

    def sql(
        self,
        query: str,
        *,
        project: str = "",
        clusters: Sequence[int] = (),
        after: float | pd.Timestamp | None = None,
        before: float | pd.Timestamp | None = None,
    ) -> pd.DataFrame:
        """The rows of a query (DuckDB's SQL) over all that you may see; `GET /api/v1/sql` lists the tables.

        `after` and `before`: only records with a time between them. Raises ObservatoryError (422) for a query
        that is wrong, takes more than it may, or has more rows than an answer may have.
        """
        asked = {"query": query, "project": project, "clusters": list(clusters)}
        found = self._connection.post("/sql", {**asked, "after": _seconds(after), "before": _seconds(before)})
        if found["has_more"]:
            limit = f"{len(found['rows']):,}"
            raise ObservatoryError(
                422, f"the query has more than {limit} rows: group or filter, or add LIMIT"
            )
        frame = pd.DataFrame(found["rows"], columns=[column["name"] for column in found["columns"]])
        for column in found["columns"]:
            if column["type"].startswith("timestamp"):
                frame[column["name"]] = pd.to_datetime(frame[column["name"]], format="ISO8601")
        return self._returned(frame)

    def find_tasks(self, cluster: int, text: str, limit: int = 1_000) -> pd.DataFrame:
        """The newest tasks of a cluster with the text in their key, at most `limit`."""
        tasks: list[dict[str, Any]] = []
        older: str | None = None
        while len(tasks) < limit and older != "":
            size = min(PAGE_SIZE, limit - len(tasks))
            found = self._connection.json(f"/clusters/{cluster}/search", q=text, limit=size, older=older)
            tasks += found["tasks"]
            older = found["older"]
        return self._returned(_with_times(pd.DataFrame(tasks, columns=None if tasks else TASK_COLUMNS)))

    def run(self, run: Run) -> ShownRun:
        """A dictionary that shows itself in a notebook, compares itself with others, and has figures."""
        return ShownRun(self._connection.json(f"/runs/{number_of(run)}"), self._connection)

    def cluster(self, cluster: int | Mapping[str, Any] | pd.Series) -> Cluster:
        """A dictionary that shows itself in a notebook."""
        return Cluster(self._connection.json(f"/clusters/{number_of(cluster)}"), self._connection)

    def workers(self, run: Run) -> pd.DataFrame:
        return self.records(run, "worker")

    def spans(self, run: Run, prefix: str | None = None) -> pd.DataFrame:
        """The activity of each thread; one row for each action of a task."""
        return self.records(run, "span", column=None if prefix is None else "prefix", value=prefix)

    def samples(self, run: Run, metric: str) -> pd.DataFrame:
        return self.records(run, "sample", column="metric", value=metric)

    def events(self, run: Run) -> pd.DataFrame:
        return self.records(run, "event")

    def errors(self, run: Run) -> pd.DataFrame:
        return self.records(run, "error")

    def logs(self, run: Run) -> pd.DataFrame:
        return self.records(run, "log")

    def transitions(self, run: Run) -> pd.DataFrame:
        return self.records(run, "transition")

    def transfers(self, run: Run) -> pd.DataFrame:
        return self.records(run, "transfer")

    def profile(self, run: Run) -> pd.DataFrame:
        """The number of samples of each stack; `records(run, "stack")` has the frames."""
        return self.records(run, "profile")

    def findings(self, run: Run) -> pd.DataFrame:
        """The causes of lost time or failure, the most costly first; docs/why.md says what each costs."""
        number = number_of(run)
        found = self._connection.json(f"/runs/{number}/timeline/findings")["findings"]
        output = Output(self._connection, f"/runs/{number}/notebook/findings")
        return self._returned(findings_frame(found, FINDING_COLUMNS, output))

    def mark_finding(
        self, run: Run, finding: Mapping[str, Any] | pd.Series, marked_as: str
    ) -> dict[str, Any]:
        """Mark a row of `findings` as "known" or "wrong" in all runs with this run's name.

        It isn't their main finding any more. Needs a token for runs. Raises ObservatoryError.
        """
        sent = {"kind": str(finding["kind"]), "prefixes": [int(one) for one in finding["prefixes"]]}
        path = f"/runs/{number_of(run)}/finding-marks"
        made: dict[str, Any] = self._connection.post(path, {**sent, "marked_as": marked_as})
        return made

    def unmark_finding(self, mark: int) -> None:
        """Remove a mark, by its `id`. Raises ObservatoryError."""
        self._connection.delete(f"/finding-marks/{mark}")

    def finding_marks(self, **filters: Any) -> pd.DataFrame:
        """The marks of findings, the newest first; `filters`: project, name (of runs)."""
        return self._returned(self._list("/finding-marks", filters))

    def prediction(self, run: Run, prefix: str | None = None, **change: float | bool) -> dict[str, Any]:
        """How many seconds a run would have taken with a change, and why that may be wrong.

        `prefix` is a name; `change` are the other parameters of GET …/what-if/prediction: workers, threads,
        times_as_fast, no_transfers, unlimited_memory, from_start. Raises ValueError for a prefix that the
        run hasn't.
        """
        timeline = f"/runs/{number_of(run)}/timeline"
        if prefix is not None:
            known = self._connection.json(f"{timeline}/prefixes")["prefixes"]
            ids = [one["prefix"] for one in known if one["name"] == prefix]
            if not ids:
                raise ValueError(f"the run has no tasks of the prefix {prefix!r}")
            change = {**change, "prefix": ids[0]}
        found: dict[str, Any] = self._connection.json(f"{timeline}/what-if/prediction", **change)
        return found

    def kinds(self, run: Run) -> dict[str, dict[str, str]]:
        """The kinds of records of a run, and the types of their columns by name."""
        found: dict[str, dict[str, str]] = self._connection.json(f"/runs/{number_of(run)}/records")
        return found

    def records(
        self,
        run: Run,
        kind: str,
        start: float | pd.Timestamp | None = None,
        stop: float | pd.Timestamp | None = None,
        column: str | None = None,
        value: str | None = None,
    ) -> pd.DataFrame:
        """The records of a kind in order of time: in [start, stop), and with `value` in `column`."""
        parameters = {"start": _seconds(start), "stop": _seconds(stop), "column": column, "value": value}
        return self._returned(self._records(run, kind, parameters))

    def _records(self, run: Run, kind: str, parameters: Mapping[str, Any]) -> pd.DataFrame:
        path = f"/runs/{number_of(run)}/records/{kind}"
        frames = [_frame(block) for block in self._blocks(path, parameters)]
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)

    def memory(self, runs: Run | Sequence[Run], measure: str = "process") -> MemorySamples:
        """The memory of all workers during one run or several; `measure` is one of MEASURES."""
        if measure not in MEASURES:
            raise ValueError(f"measure is {measure!r}: there are {', '.join(MEASURES)}")
        several = [runs] if isinstance(runs, int | Mapping | pd.Series) else list(runs)
        samples: dict[str, pd.Series] = {}
        for run in several:
            name = str(self.run(run)["name"])
            if name in samples:
                name = f"{name} ({number_of(run)})"
            samples[name] = self._memory(run, measure)
        return MemorySamples(samples)

    def _memory(self, run: Run, measure: str) -> pd.Series:
        found = self._records(run, "sample", {"column": "metric", "value": CLUSTER_MEMORY})
        of_measure = found[found["labels"].map(lambda labels: json.loads(labels).get("type") == measure)]
        return pd.Series(of_measure["value"].to_numpy(), index=of_measure["time"].dt.tz_localize(None))

    def _returned(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self._frames == "pandas":
            return frame
        from observatory.client.polars_frames import polars_frame

        return polars_frame(frame)

    def _list(self, path: str, filters: Mapping[str, Any]) -> pd.DataFrame:
        items: list[dict[str, Any]] = []
        number, pages = 1, 1
        while number <= pages:
            found = self._connection.json(path, **filters, page=number, page_size=PAGE_SIZE)
            items += found["items"]
            number, pages = number + 1, found["pages"]
        return _with_times(pd.DataFrame(items))

    def _blocks(self, path: str, parameters: Mapping[str, Any]) -> Iterator[Block]:
        mark = None
        while True:
            [block] = decode(self._connection.get(path, {**parameters, "mark": mark}))
            yield block
            mark = block.meta["next"]
            if mark is None:
                return


def _seconds(time: float | pd.Timestamp | None) -> float | None:
    return time.timestamp() if isinstance(time, pd.Timestamp) else time


def _frame(block: Block) -> pd.DataFrame:
    columns = {}
    for name, type in block.meta["types"].items():
        column = block.columns[name]
        if column.values is not None:
            codes = np.frombuffer(column.data, "<u4", block.rows)
            columns[name] = pd.Series(np.array([*column.values, ""], object)[codes], dtype="str")
            continue
        numbers = np.frombuffer(column.data, "<f8", block.rows)
        if type == "time":
            columns[name] = pd.Series(_times(numbers))
        elif type == "integer" and not np.isnan(numbers).any():
            columns[name] = pd.Series(numbers.astype(np.int64))
        else:
            columns[name] = pd.Series(numbers)
    return pd.DataFrame(columns)


def _with_times(frame: pd.DataFrame) -> pd.DataFrame:
    for name in frame.columns.intersection(list(TIMES)):
        frame[name] = _times(frame[name].to_numpy(np.float64))
    return frame


def _times(seconds: np.ndarray[Any, Any]) -> pd.DatetimeIndex:
    """NaN becomes NaT."""
    known = ~np.isnan(seconds)
    microseconds = np.full(len(seconds), np.iinfo(np.int64).min)  # numpy's NaT
    microseconds[known] = np.rint(seconds[known] * 1e6).astype(np.int64)
    return pd.DatetimeIndex(microseconds.view("M8[us]")).tz_localize("UTC")
