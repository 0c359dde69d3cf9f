"""One run as tools read it: answers about its window, its records, its workers' names, links to its pages."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from observatory.assistants.rest_api import Api, ApiError, read
from observatory.wire.blocks import decode

RunId: TypeAlias = Annotated[int, Field(ge=1, lt=2**31, description="number of the run")]
Moment: TypeAlias = Annotated[
    float | Annotated[str, Field(max_length=40)] | None,
    Field(
        description="a time in the run: seconds since its start, a UTC time of its day such as 12:03:30, "
        "or 2026-11-28T12:03:30Z"
    ),
]
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
SECONDS = re.compile(r"-?\d+(\.\d+)?")


class RunReading:
    """`facts` is what GET /api/v1/runs/{id} answers."""

    def __init__(self, api: Api, facts: Mapping[str, Any]) -> None:
        self.api = api
        self.facts = facts
        self.path = f"/runs/{facts['id']}"
        self._lanes: Any = None

    @property
    def start(self) -> float:
        return float(self.facts["start"])

    async def timeline(self, path: str, **parameters: Any) -> Any:
        """What GET /api/v1/runs/{id}/timeline{path} answers."""
        return await read(self.api, f"{self.path}/timeline{path}", **parameters)

    async def records(self, kind: str, limit: int, mark: str | None = None, **parameters: Any) -> Records:
        """At most `limit` records in order of time; parameters are those of GET …/records/{kind}."""
        body = await self.api.get(f"{self.path}/records/{kind}", {**parameters, "limit": limit, "mark": mark})
        [block] = decode(body)
        columns = {name: block.list(name) for name in block.meta["types"]}
        return Records(columns, block.meta["next"])

    async def lanes(self) -> Any:
        """Workers, lanes, prefixes and series, read once: some MiB at most, of the newest workers."""
        if self._lanes is None:
            self._lanes = await self.timeline("/lanes")
        return self._lanes

    async def worker_names(self) -> dict[int | None, str]:
        """The name of each worker by its id; its address if it has none."""
        return names_of((await self.lanes())["workers"])

    async def worker_id(self, wanted: str) -> int:
        """The newest worker with this name or address. Raises ApiError."""
        workers = (await self.lanes())["workers"]
        found = [each["id"] for each in workers if wanted in (each["name"], each["address"])]
        if not found:
            there_are = ", ".join(sorted(set(names_of(workers).values()))[:20])
            raise ApiError(f"The run has no worker {wanted[:100]!r}. It has: {there_are}.")
        return int(found[-1])

    async def window(self, start: Moment, stop: Moment) -> dict[str, float]:
        """The parameters of a part of the run's window; none for a bound that isn't given."""
        found = {"after": self.seconds(start), "before": self.seconds(stop)}
        return {name: at for name, at in found.items() if at is not None}

    def seconds(self, moment: Moment) -> float | None:
        """Seconds since the epoch. Raises ApiError for a text that is no time."""
        if moment is None or moment == "":
            return None
        if not isinstance(moment, str):
            return self.start + moment
        if SECONDS.fullmatch(moment.strip()):
            return self.start + float(moment)
        if found := CLOCK.fullmatch(moment.strip()):
            return self._of_day(found)
        return parse_time(moment)

    def link(self, tab: str = "", **address: Any) -> str:
        """The URL of the run's page; `address` are keys of a timeline's address: at, from, to, worker."""
        given = {"tab": tab or None, **address}
        query = urllib.parse.urlencode({name: each for name, each in given.items() if each is not None})
        return f"{self.api.url}/runs/{self.facts['id']}/{'?' if query else ''}{query}"

    def _of_day(self, clock: re.Match[str]) -> float:
        """The first such time from the run's start on; up to a minute before it is still its day."""
        begin = datetime.fromtimestamp(self.start, timezone.utc)
        hour, minute, second = int(clock[1]), int(clock[2]), float(clock[3] or 0)
        if not (hour < 24 and minute < 60 and second < 60):
            raise ApiError(f"{clock[0]!r} is no time of a day.")
        midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
        at = midnight + timedelta(hours=hour, minutes=minute, seconds=second)
        return (at if at > begin - timedelta(minutes=1) else at + timedelta(days=1)).timestamp()


class Records:
    """Records as columns; `following` is the mark of the next ones, None if there are no more."""

    def __init__(self, columns: Mapping[str, list[Any]], following: str | None) -> None:
        self.columns = columns
        self.following = following

    def rows(self) -> list[dict[str, Any]]:
        return [
            dict(zip(self.columns, values, strict=True))
            for values in zip(*self.columns.values(), strict=True)
        ]


async def open_run(api: Api, run: int) -> RunReading:
    """Raises ApiError, also for a run that the token's owner may not see."""
    return RunReading(api, await read(api, f"/runs/{run}"))


def names_of(workers: list[dict[str, Any]]) -> dict[int | None, str]:
    return {each["id"]: each["name"] or each["address"] for each in workers}


def parse_time(text: str) -> float:
    """Seconds since the epoch of a time in ISO 8601, in UTC unless it says otherwise. Raises ApiError."""
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise ApiError(f"{text[:40]!r} is no time: write it as 2026-11-28T12:03:30Z.") from None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
