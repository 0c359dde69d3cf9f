"""The charts that other sites can show in frames, by the names that Dask's own dashboard gives its plots."""

from __future__ import annotations

from dataclasses import dataclass

START = "individual-"
"""of the paths below a cluster's page, as on Dask's dashboard"""


@dataclass(frozen=True, slots=True)
class FramedChart:
    title: str
    """in the list of JupyterLab's extension"""
    chart: str
    """its name in frontend/charts/"""


CHARTS = {
    "task-stream": FramedChart("Task Stream", "task-stream"),
    "progress": FramedChart("Progress", "progress"),
    "workers-memory": FramedChart("Workers Memory", "memory"),
    "cluster-memory": FramedChart("Cluster Memory", "cluster-memory"),
    "workers-cpu": FramedChart("Workers CPU", "cpu"),
    "event-loop": FramedChart("Event Loop", "event-loop"),
    "task-states": FramedChart("Task States", "states"),
    "workers": FramedChart("Workers", "workers-now"),
    "graph": FramedChart("Graph", "graph"),
    "profile": FramedChart("Profile", "profile"),
    "findings": FramedChart("Findings", "findings"),
}
"""by the last part of the path"""


def plots() -> dict[str, str]:
    """Paths below a cluster's page by title: what Dask's dashboard has as individual-plots.json."""
    return {f"Individual {one.title}": f"/{START}{name}" for name, one in CHARTS.items()}
