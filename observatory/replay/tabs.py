"""The tabs of a timeline: each shows other charts of the same window, playhead and selection.

`frontend/tabs/` has the charts of each, in a file of its name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from observatory.replay.scope import Section


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    """in the address, as `tab`"""
    title: str
    help: str
    section: Section | None = None
    """what must be shared for it"""


TABS = (
    Tab(
        "status",
        "Status",
        "What the cluster does: its task stream, its workers, what goes on at the playhead",
    ),
    Tab("tasks", "Tasks", "Each prefix and group: durations, errors, its slowest tasks; the search for keys"),
    Tab("workers", "Workers", "Each worker: its tasks, memory and CPU, and those that stand out"),
    Tab(
        "transfers",
        "Transfers",
        "Who sent what to whom and how fast, what was stolen, and P2P shuffles",
    ),
    Tab(
        "graph",
        "Graph",
        "Which groups there are, what each needs, where their tasks were and where they waited",
    ),
    Tab("memory", "Memory", "Memory of the cluster and of each worker, by kind"),
    Tab("contention", "Contention", "How busy CPU, GIL and event loops are, and which code ran"),
    Tab("profile", "Profile", "Which code the threads ran", Section.CODE),
    Tab(
        "system", "System", "The machines and processes: network, disk, versions, clients, events and topics"
    ),
    Tab("logs", "Logs", "What the processes of the cluster logged", Section.LOGS),
    Tab("why", "Why?", "Where the time of all threads went, why they were idle, and what others waited for"),
)
DEFAULT_TAB = TABS[0].name


def tabs_of(sections: Collection[Section]) -> list[Tab]:
    """Return the tabs that a scope with these sections has."""
    return [tab for tab in TABS if tab.section is None or tab.section in sections]


def tab_named(name: str | None) -> str:
    """Return the name of the tab that the address asks for, the default one where there is no such tab."""
    return next((tab.name for tab in TABS if tab.name == name), DEFAULT_TAB)
