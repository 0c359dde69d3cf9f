"""The answers about a window that have no other parameters and are in files of runs."""

from __future__ import annotations

from observatory.replay.answers.window_answer import WindowAnswer
from observatory.replay.windows.graph_schemas import GroupGraph
from observatory.replay.windows.group_graph import group_graph_of

ANSWERS = (
    WindowAnswer(
        "group-graph",
        "The groups of after ≤ time < before as a graph, with their tasks' states and work over time.",
        GroupGraph,
        group_graph_of,
    ),
)
