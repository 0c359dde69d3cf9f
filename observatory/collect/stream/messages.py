"""Parses the messages of a scheduler's event stream into records."""

from __future__ import annotations

import json
from typing import Any

from observatory.collect.scheduler.identity import MAXIMUM_NAME, Problems, integer, number, text
from observatory.store.keys import key_of_json, name_key
from observatory.wire.event_kinds import CLIENT_REMOVED, EVENT_KINDS
from observatory.wire.records import Action, Event, Span, Status, is_time

MAXIMUM_MESSAGES = 10_000

EVENTS = {
    "add_worker": "worker-added",
    "remove_worker": "worker-removed",
    "add_client": "client-added",
    "remove_client": CLIENT_REMOVED,
    "update_graph": "graph-updated",
    "restart": "restarted",
}


def read_message(data: str, now: float, problems: Problems) -> list[Span | Event]:
    """The records in one message, which is a JSON object or a list of them. `now`: the time of events.

    Malformed objects are skipped and logged by `problems`.
    """
    try:
        page = json.loads(data)
    except (ValueError, RecursionError):
        problems.skip("a message of the event stream")
        return []
    found = [
        read_object(entry, now) for entry in (page[:MAXIMUM_MESSAGES] if isinstance(page, list) else [page])
    ]
    if None in found:
        problems.skip("a message of the event stream")
    return [record for record in found if record is not None]


def read_object(page: Any, now: float) -> Span | Event | None:
    """The record of one object; None when it is malformed or not of interest."""
    if not isinstance(page, dict):
        return None
    name = page.get("name")
    if name == "transition":
        return read_transition(page)
    kind = EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        return None
    client = text(page, "client", MAXIMUM_NAME)
    detail = {"message": EVENT_KINDS[kind].sentence, **({"client": client} if client else {})}
    return Event(now, kind, text(page, "worker", MAXIMUM_NAME), detail)


def read_transition(page: dict[str, Any]) -> Span | None:
    """The span of one start/stop pair of a finished task; None when it is malformed."""
    key = key_of_json(page.get("key"))
    start, stop = number(page, "start"), number(page, "stop")
    worker, thread, action = page.get("worker"), page.get("thread"), page.get("action")
    if (
        key is None
        or start is None
        or stop is None
        or not is_time(start)
        or not is_time(stop)
        or stop < start
    ):
        return None
    if not isinstance(worker, str) or not 0 < len(worker) <= MAXIMUM_NAME or not worker.isprintable():
        return None
    if not isinstance(thread, int) or not 0 <= thread < 2**63 or not isinstance(action, str):
        return None
    try:
        known_action = Action.of(action)
    except ValueError:
        return None
    text_key, prefix, group = name_key(key)
    return Span(
        worker=worker,
        thread=thread,
        key=text_key,
        prefix=prefix,
        group=group,
        action=known_action,
        start=start,
        stop=stop,
        nbytes=integer(page, "nbytes"),
        typename=text(page, "typename", MAXIMUM_NAME),
        status=Status.OK if page.get("status") == "OK" else Status.ERROR,
    )
