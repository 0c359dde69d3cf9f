from __future__ import annotations

from typing import Any

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api
from observatory.assistants.run_reading import Moment, RunId, open_run
from observatory.assistants.texts import Passage

MOST_PAIRS, MOST_LARGEST, MOST_STOLEN = 30, 15, 60
MOVED = ("read", "written")
"""what of a shuffle's figures of each medium is told"""


async def transfers(api: Api, run: RunId, start: Moment = None, stop: Moment = None) -> Answer:
    """Data that moved in a run: who sent how much to whom and how fast, the largest transfers with the task
    that waited for each, P2P shuffles with their code, and work stealing with the keys that were stolen."""
    reading = await open_run(api, run)
    window = await reading.window(start, stop)
    found = await reading.timeline("/transfers", **window)
    stolen = await reading.timeline("/stolen", **window)
    names = await reading.worker_names()
    places = [each["host"] or names.get(each["worker"], "unknown") for each in found["places"]]
    pairs = sorted(found["cells"], key=lambda each: -each["nbytes"])
    recorded = {
        "total": _amount(found["total"]),
        "pairs": [
            {
                "from": _place(places, each["sender"]),
                "to": _place(places, each["receiver"]),
                **_amount(each),
            }
            for each in pairs[:MOST_PAIRS]
        ],
        "other_pairs": max(len(pairs) - MOST_PAIRS, 0),
        "largest": [_transfer(each, names) for each in found["largest"][:MOST_LARGEST]],
        "shuffles": [_shuffle(each) for each in found["shuffles"]],
        "steals": {
            "attempts_by_outcome": found["outcomes"],
            "pairs": [
                {
                    "from": names.get(each["victim"]),
                    "to": names.get(each["thief"]),
                    "outcome": each["outcome"],
                    "count": each["count"],
                }
                for each in found["steals"]
            ],
            "stolen_tasks": stolen["total"],
            "stolen": [
                {"key": each["key"], "from": names.get(each["victim"]), "to": names.get(each["thief"])}
                for each in stolen["tasks"][:MOST_STOLEN]
            ],
        },
    }
    return Answer(recorded, {"transfers": reading.link("transfers")})


def _place(places: list[str], position: int | None) -> str:
    return "unknown" if position is None else places[position]


def _amount(found: dict[str, Any]) -> dict[str, Any]:
    seconds = found["seconds"]
    return {
        "transfers": found["count"],
        "size_bytes": found["nbytes"],
        "seconds": seconds,
        "bytes_per_second": found["nbytes"] / seconds if seconds else None,
    }


def _transfer(found: dict[str, Any], names: dict[int | None, str]) -> dict[str, Any]:
    return {
        "from": names.get(found["sender"]),
        "to": names.get(found["receiver"]),
        "start": time_text(found["start"]),
        "duration_seconds": found["stop"] - found["start"],
        "size_bytes": found["nbytes"],
        "keys": [each["key"] for each in found["keys"]],
        "waiting_task": found["waiting"],
    }


def _shuffle(found: dict[str, Any]) -> dict[str, Any]:
    amounts = {
        f"{each['medium']}_{each['what']}_bytes": each["nbytes"]
        for each in found["amounts"]
        if each["what"] in MOVED
    }
    return {
        "shuffle": found["shuffle"],
        "name": found["name"],
        "code": Passage(found["code"]),
        "first": time_text(found["first"]),
        "last": time_text(found["last"]),
        **amounts,
    }
