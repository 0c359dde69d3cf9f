"""The memory of a run over time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from observatory.client.connection import Connection

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GIB = 2**30
MEASURES = ("process", "managed", "unmanaged", "spilled")


def memory(connection: Connection, run: Mapping[str, Any]) -> Figure:
    from plotly import graph_objects

    figure = graph_objects.Figure()
    for measure in MEASURES:
        found = connection.json("/runs/memory", runs=run["id"], measure=measure)
        for one in found["runs"]:
            figure.add_scatter(
                name=measure,
                x=[
                    datetime.fromtimestamp(one["start"] + place * found["width"], UTC)
                    for place in range(len(one["line"]))
                ],
                y=[None if value is None else value / GIB for value in one["line"]],
                mode="lines",
            )
    figure.update_layout(
        title=f"Memory of {escape(str(run['name']))}",
        xaxis={"type": "date", "title": "UTC"},
        yaxis={"title": "GiB, all workers", "rangemode": "tozero"},
    )
    return figure
