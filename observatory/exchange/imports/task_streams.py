"""A saved list of `Client.get_task_stream()`, as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observatory.exchange.bundles.manifest import ClusterFacts, RunFacts
from observatory.exchange.imports.agent_rows import AgentRows, as_list, as_mapping, as_number, as_text
from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.dump_keys import saved_key
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.imports.unpacking import opened
from observatory.wire.event_kinds import CLUSTER_ENDED
from observatory.wire.records import Action, Status, is_time

LARGEST = 128 * 2**20
"""bytes, unpacked"""


def read_list(path: Path) -> list[Any]:
    """Raises Refused."""
    with opened(path, LARGEST) as file:
        try:
            text = file.read()
            Allowance(path.stat().st_size).take("containers", text.count(b"[") + text.count(b"{"))
            tasks = json.loads(text)
        except (ValueError, RecursionError) as error:
            if isinstance(error, Refused):
                raise
            raise Refused(f"It begins as JSON, but isn't: {str(error)[:200]}.") from None
    if not isinstance(tasks, list):
        raise Refused("It is JSON, but no list of `Client.get_task_stream()`.")
    return tasks


def records_of(tasks: list[Any], allowance: Allowance) -> tuple[AgentRows, RunFacts, ClusterFacts]:
    """The spans of the tasks. Raises Refused if an item is no task, or there is none."""
    rows = AgentRows(allowance)
    threads: dict[str, set[int]] = {}
    for number, entry in enumerate(tasks, 1):
        task = as_mapping(entry)
        worker, key = as_text(task.get("worker")), saved_key(task.get("key"))
        parts = as_list(task.get("startstops"))
        if not worker or key is None or not parts:
            raise Refused(
                f"Entry {number} of the list is no task of get_task_stream: no worker, key or startstops."
            )
        thread = int(as_number(task.get("thread")))
        threads.setdefault(worker, set()).add(thread)
        status = Status.ERROR if as_text(task.get("status")).lower() in ("error", "erred") else Status.OK
        for part in parts:
            action, start, stop = _part(part, number)
            nbytes = as_number(task.get("nbytes"))
            typename = as_text(task.get("typename"))
            rows.add("span", worker, thread, key, int(action), start, stop, nbytes, typename, int(status))
    times = rows.times("span")
    if not times:
        raise Refused("The list has no task in it.")
    start, stop = min(times), max(times) + 1e-3
    for worker, seen in threads.items():
        rows.add("worker", start, worker, "", "", len(seen), 0, "running", "{}", "{}")
        rows.add("gone", stop, worker, CLUSTER_ENDED)
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(start))
    erred = any(row[-1] == Status.ERROR for row in rows.rows["span"])
    run = RunFacts(
        name=f"Task stream of {when} UTC", start=start, stop=stop, outcome="erred" if erred else "finished"
    )
    return rows, run, ClusterFacts(name="task stream", scheduler_id="task-stream", started=start)


def _part(part: Any, number: int) -> tuple[Action, float, float]:
    """Of an object; before distributed 2.24 it was a list."""
    if isinstance(part, list) and len(part) == 3:
        part = dict(zip(("action", "start", "stop"), part, strict=True))
    item: Mapping[Any, Any] = as_mapping(part)
    start, stop = as_number(item.get("start")), as_number(item.get("stop"))
    try:
        action = Action.of(as_text(item.get("action")))
    except ValueError as error:
        raise Refused(f"Entry {number} of the list has an {error}.") from None
    if not (is_time(start) and is_time(stop) and start <= stop):
        raise Refused(
            f"Entry {number} of the list goes from {start} to {stop}: that is no time of this century."
        )
    return action, start, stop
