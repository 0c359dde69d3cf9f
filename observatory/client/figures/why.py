"""Where the time of a run's threads went."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from observatory.client.connection import Connection

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ROW_HEIGHT, MARGINS = 28, 160
"""pixels"""


def why(connection: Connection, run: Mapping[str, Any]) -> Figure:
    from plotly import graph_objects

    found = connection.json(f"/runs/{run['id']}/timeline/thread-times")
    kinds = sorted((kind for kind in found["kinds"] if kind["seconds"]), key=lambda kind: kind["seconds"])
    whole = sum(kind["seconds"] for kind in kinds) or 1.0
    figure = graph_objects.Figure(
        graph_objects.Bar(
            orientation="h",
            x=[kind["seconds"] for kind in kinds],
            y=[escape(kind["title"]) for kind in kinds],
            text=[f"{kind['seconds'] / whole:.0%}" for kind in kinds],
            hovertext=[escape(kind["help"]) for kind in kinds],
        )
    )
    figure.update_layout(
        title=f"Time of the threads of {escape(str(run['name']))}",
        xaxis={"title": "seconds of threads"},
        yaxis={"automargin": True},
        height=MARGINS + ROW_HEIGHT * max(len(kinds), 3),
    )
    return figure
