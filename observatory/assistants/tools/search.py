from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, read


async def search(
    api: Api,
    text: Annotated[str, Field(min_length=1, max_length=1_000, description="part of a name or of a key")],
) -> Answer:
    """Finds tasks by a part of their key in all clusters; clusters, runs, prefixes and workers by name."""
    found = await read(api, "/search", q=text)
    names = ("clusters", "runs", "prefixes", "workers")
    return Answer(
        {
            **{name: found[name] for name in names},
            "tasks": [_tasks(each) for each in found["tasks"]],
            "clusters_not_searched_to_their_end": found["unfinished"],
            "clusters_whose_archive_cannot_be_read": found["unreadable"],
            "is_complete": found["following"] is None,
        }
    )


def _tasks(found: dict[str, Any]) -> dict[str, Any]:
    tasks = [
        {
            "key": each["key"],
            "prefix": each["prefix"],
            "start": time_text(each["time"]),
            "duration_seconds": each["duration"],
            "worker": each["worker_name"],
            "state": each["state"],
            "error": each["error"],
        }
        for each in found["tasks"]
    ]
    names = {"cluster": found["cluster"], "cluster_name": found["cluster_name"]}
    return {**names, "tasks": tasks, "has_more": found["has_more"]}
