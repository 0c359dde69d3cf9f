from __future__ import annotations

from typing import Any

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api
from observatory.assistants.run_reading import Moment, RunId, open_run

MOST_PIECES, MOST_PREFIXES = 40, 20


async def critical_path(api: Api, run: RunId, start: Moment = None, stop: Moment = None) -> Answer:
    """The chain of steps that decided how long a run took, from the client's code to the last task: seconds
    by kind and by prefix, and the longest pieces in order of time. Shortening anything else doesn't help."""
    reading = await open_run(api, run)
    window = await reading.window(start, stop)
    path = await reading.timeline("/critical-path", **window)
    names = await reading.worker_names()
    kinds = [each["kind"] for each in path["kinds"]]
    prefixes = sorted(path["prefixes"], key=lambda each: -sum(each["seconds"]))[:MOST_PREFIXES]
    longest = sorted(path["pieces"], key=lambda each: each["start"] - each["stop"])[:MOST_PIECES]
    of_prefix = {each["prefix"]: each["name"] for each in path["prefixes"]}
    recorded = {
        "has_agent": path["has_agent"],
        "has_graph": path["has_graph"],
        "start": time_text(path["start"]),
        "duration_seconds": path["stop"] - path["start"],
        "kinds_seconds": {each["title"]: each["seconds"] for each in path["kinds"] if each["seconds"] > 0},
        "prefixes": [_prefix(each, kinds) for each in prefixes],
        "longest_pieces": [
            {
                "kind": each["kind"],
                "start": time_text(each["start"]),
                "duration_seconds": each["stop"] - each["start"],
                "key": each["key"],
                "prefix": of_prefix.get(each["prefix"]),
                "worker": names.get(each["worker"]),
            }
            for each in sorted(longest, key=lambda each: each["start"])
        ],
        "other_pieces": len(path["pieces"]) - len(longest) + path["other_pieces"],
    }
    return Answer(recorded, {"why": reading.link("why")})


def _prefix(found: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    seconds = dict(zip(kinds, found["seconds"], strict=True))
    return {
        "prefix": found["name"],
        "seconds": {kind: each for kind, each in seconds.items() if each > 0},
        "slack_seconds": found["slack"],
    }
