from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, read
from observatory.assistants.run_reading import parse_time

Text = Annotated[str, Field(max_length=200)]
Time = Annotated[str, Field(max_length=40, description="UTC, such as 2026-11-28 or 2026-11-28T12:03:30Z")]
SHORT = ("outcome", "project", "user", "tags", "tasks", "errors")


async def find_runs(
    api: Api,
    name: Text = "",
    project: Text = "",
    user: Text = "",
    tag: Annotated[str, Field(max_length=400, description="git=3f2a1c, or git for any value")] = "",
    outcome: Literal["", "running", "finished", "erred", "lost", "unseen"] = "",
    since: Time = "",
    until: Time = "",
    like: Annotated[int | None, Field(ge=1, lt=2**31, description="the history of this run's name")] = None,
    finding: Annotated[str, Field(max_length=200, description="kind of the main finding")] = "",
    with_errors: bool = False,
    order: Literal["-start", "start", "-duration", "duration", "-tasks", "-errors"] = "-start",
    limit: Annotated[int, Field(ge=1, le=50)] = 20,
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1,
) -> Answer:
    """Finds runs (named time windows of Dask clusters), the newest first, each with its main finding.

    `like` gives the earlier and later runs of the same name: the history of a job.
    """
    found = await read(
        api,
        "/runs",
        name=name or None,
        project=project or None,
        user=user or None,
        tag=tag or None,
        outcome=outcome or None,
        since=parse_time(since) if since else None,
        until=parse_time(until) if until else None,
        like=like,
        finding=finding or None,
        with_errors=with_errors or None,
        order=order,
        page=page,
        page_size=limit,
    )
    runs = [_run(api, each) for each in found["items"]]
    recorded = {"runs": runs, "found": found["count"], "page": found["page"], "pages": found["pages"]}
    return Answer(recorded, {"runs": f"{api.url}/runs/"})


def _run(api: Api, run: dict[str, Any]) -> dict[str, Any]:
    main = run["main_finding"] or {}
    return {
        "run": run["id"],
        "name": run["name"],
        "cluster": run["cluster"],
        "cluster_name": run["cluster_name"],
        **{name: run[name] for name in SHORT},
        "start": time_text(run["start"]),
        "duration_seconds": None if run["stop"] is None else run["stop"] - run["start"],
        "main_finding": main.get("sentence") or main.get("state"),
        "link": f"{api.url}/runs/{run['id']}/",
    }
