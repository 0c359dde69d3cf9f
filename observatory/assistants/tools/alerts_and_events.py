from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, read
from observatory.assistants.run_reading import Moment, RunReading, open_run
from observatory.assistants.texts import Passage

MOST_EVENTS, READ_EVENTS = 60, 5_000


async def alerts_and_events(
    api: Api,
    run: Annotated[int | None, Field(ge=1, lt=2**31, description="without one: alerts of all")] = None,
    match: Annotated[str, Field(max_length=200, description="part of a message or kind of events")] = "",
    start: Moment = None,
    stop: Moment = None,
) -> Answer:
    """What happened in a run: workers that joined, died (with signal and reason), paused or restarted, what
    programs logged as events, shuffles, and alerts with their rules' advice. Without a run: the alerts that
    fire in all projects."""
    if run is None:
        found = await read(api, "/alerts", state="firing", text=match or None)
        recorded = {"alerts": [_alert(each) for each in found["items"]], "found": found["count"]}
        return Answer(recorded, {"alerts": f"{api.url}/alerts/"})
    reading = await open_run(api, run)
    window = await reading.window(start, stop)
    events = await reading.timeline("/events", **window, limit=READ_EVENTS, grouped=True)
    fired = await reading.timeline("/alerts")
    names = await reading.worker_names()
    kinds: Counter[str] = Counter()
    for each in events:
        kinds[each["kind"]] += each["count"]
    chosen = [each for each in events if match.lower() in f"{each['kind']} {each['message']}".lower()]
    recorded = {
        "alerts": [
            {**_alert(each), "worker": names.get(each["worker"]), **fired["rules"].get(each["rule"], {})}
            for each in fired["alerts"]
        ],
        "events": [
            {
                "time": time_text(each["time"]),
                **({"until": time_text(each["until"])} if each["count"] > 1 else {}),
                "kind": each["kind"],
                "worker": names.get(each["worker"]),
                "message": Passage(each["message"]),
            }
            for each in chosen[:MOST_EVENTS]
        ],
        "other_events": max(len(chosen) - MOST_EVENTS, 0),
        "events_by_kind": dict(kinds),
    }
    return Answer(recorded, _links(reading))


def _alert(found: dict[str, Any]) -> dict[str, Any]:
    of_all = ("project", "cluster_name", "state", "description", "advice")
    return {
        "rule": found["rule"],
        "severity": found["severity"],
        "began": time_text(found["pending"]),
        "fired": time_text(found["fired"]),
        "resolved": time_text(found["resolved"]),
        "labels": found["labels"],
        "message": Passage(found["message"]),
        "acknowledged_by": found["acknowledged_by"],
        **{name: found[name] for name in of_all if name in found},
    }


def _links(reading: RunReading) -> dict[str, str]:
    return {"system": reading.link("system"), "status": reading.link("status")}
