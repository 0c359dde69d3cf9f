"""The schemas of the documents in the HTML report, which say what a file of a public scope has of them."""

from __future__ import annotations

from typing import Any

from ninja import Schema

from observatory.alerts.web.timelines import TimelineAlerts
from observatory.exchange.attachments.answer import ANSWER as ATTACHED
from observatory.replay.answers.shared_fields import shared
from observatory.replay.lineage_schemas import StolenTasks
from observatory.replay.logs.schemas import LogLineOut
from observatory.replay.playhead_schemas import ResultsInMemory
from observatory.replay.schemas import ClusterInfo, EventItem, Lanes, State
from observatory.replay.windows.answers import ANSWERS as OF_WINDOWS
from observatory.replay.windows.environment_schemas import Environment
from observatory.replay.windows.graph_schemas import TaskGraph
from observatory.replay.windows.prefix_schemas import Groups, PrefixDetail, Prefixes
from observatory.replay.windows.transfer_schemas import Transfers
from observatory.why.answers import ANSWERS as WHY


@shared("instants", "states")
class States(Schema):
    instants: list[float]
    states: list[State]


@shared("id", "figures")
class FiguresOfWorker(Schema):
    id: int
    figures: dict[str, list[float | None]]
    """a value for each instant"""


@shared("instants", "workers")
class Figures(Schema):
    instants: list[float]
    workers: list[FiguresOfWorker]


@shared("instants", "answers")
class Results(Schema):
    instants: list[float]
    answers: list[ResultsInMemory]


SCHEMAS: dict[str, Any] = {
    "": ClusterInfo,
    "/lanes": Lanes,
    "/states": States,
    "/workers": Figures,
    "/results": Results,
    "/prefixes": Prefixes,
    "/groups": Groups,
    "/alerts": TimelineAlerts,
    "/environment": Environment,
    "/events": list[EventItem],
    "/logs": list[LogLineOut],
    "/transfers": Transfers,
    "/stolen": StolenTasks,
    **{answer.path: answer.schema for answer in (*OF_WINDOWS, *WHY, ATTACHED)},
    "/task-graph": TaskGraph,
}
"""by path; a public scope has no others"""


def schema_of(path: str) -> Any:
    """Return the schema of the document at a path; None: it has none."""
    return PrefixDetail if path.startswith("/prefixes/") else SCHEMAS.get(path)
