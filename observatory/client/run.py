"""A run, which shows itself in notebooks, and draws itself with Plotly."""

from __future__ import annotations

from typing import Any

from observatory.client.connection import Connection
from observatory.client.shown import Output, Shown


class Run(Shown):
    """A run. Its fields are those of GET /api/v1/runs/{id}. The plots are Plotly figures."""

    @property
    def url(self) -> str:
        return f"{self._connection.url}/runs/{self['id']}/"

    @property
    def output(self) -> Output:
        return Output(self._connection, f"/runs/{self['id']}/notebook")

    @property
    def title(self) -> str:
        return f"Run “{self['name']}”"

    def compare(self, other: Any = None, *, last: int | None = None) -> Comparison:
        """Compares with `other` (a number, a run or a row of `runs`), or `last` earlier runs of its name.

        Raises ValueError unless one of the two is given.
        """
        if (other is None) == (last is None):
            raise ValueError("give another run, or last= (a number of earlier runs)")
        b = None if other is None else number_of(other)
        return Comparison.read(self._connection, int(self["id"]), b, last)

    def plot_task_stream(self) -> Any:
        """What each thread did over time; in bins, where there are too many tasks to draw."""
        from observatory.client.figures.task_stream import task_stream

        return task_stream(self._connection, self)

    def plot_memory(self) -> Any:
        """The memory of all workers together over time, by what it is (GiB)."""
        from observatory.client.figures.memory import memory

        return memory(self._connection, self)

    def plot_why(self) -> Any:
        """Where the time of the threads went."""
        from observatory.client.figures.why import why

        return why(self._connection, self)


class Comparison(Shown):
    """A comparison of a run with others. Its fields are those of GET /api/v1/runs/compare."""

    def __init__(self, fields: dict[str, Any], connection: Connection, last: int | None) -> None:
        super().__init__(fields, connection)
        self._last = last

    @classmethod
    def read(cls, connection: Connection, a: int, b: int | None, last: int | None) -> Comparison:
        """Raises ObservatoryError."""
        return cls(connection.json("/runs/compare", a=a, b=b, last=last), connection, last)

    @property
    def url(self) -> str:
        return f"{self._connection.url}/runs/compare/?a={self['a']['id']}&{self._with}"

    @property
    def output(self) -> Output:
        other = {"other": self["b"][0]["id"]} if self._last is None else {"last": self._last}
        return Output(self._connection, f"/runs/{self['a']['id']}/notebook/comparison", other)

    @property
    def title(self) -> str:
        return f"Run “{self['a']['name']}”, compared"

    @property
    def _with(self) -> str:
        return f"b={self['b'][0]['id']}" if self._last is None else f"last={self._last}"


def number_of(run: Any) -> int:
    """`run`: a number, a run, or a row of a list of runs."""
    return int(run["id"]) if hasattr(run, "keys") else int(run)
