"""A cell that is observed: its run, and a thread that asks Observatory what the cluster does meanwhile.

The thread's requests have no lock in common with the cell, and end by themselves: an Observatory that is slow
or gone changes what the panel says, and nothing else.
"""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from typing import Any

from observatory.client.cells.panel import CellOutput
from observatory.client.connection import TOKEN, URL, Connection, ObservatoryError
from observatory.client.opened_runs import find_run, how_to_show, local_bundle, page_url
from observatory.client.run import Run
from observatory.client.settings import read_settings
from observatory.client.shown import Bundle, Output, plain_bundle
from observatory.wire.client_code.runs import RUNNING

log = logging.getLogger("observatory")

INTERVAL = 0.5
"""seconds between two requests; more if they take long"""
SHARE = 0.2
"""of the time, at most, in which a request is under way"""
TIMEOUT = 5.0
"""most seconds that a request takes"""
ARRIVAL = 20.0
"""seconds that the records of a cell take to arrive, at most"""
FINAL, PAUSE = 90.0, 2.0
"""seconds that the card is refreshed for at most, and between two refreshes"""

NO_CLIENT = (
    "there was no Dask client when the cell began, so it isn't recorded. Create one in an earlier cell."
)
NO_OBSERVATORY = (
    "No Observatory observes this cluster. To get one: pip install 'dask-observatory[demo]', then start "
    f"dask-observatory up. Set {URL} and {TOKEN} here, and add the cluster as a target there or call "
    "observatory.agent.register(client)."
)
UNKNOWN_CLUSTER = (
    "Observatory doesn't know this cluster. Add it as a target there, or call "
    "observatory.agent.register(client)."
)
WAITING = "Waiting for the first records …"
LOOKING = "Looking for what the run tells …"
NOT_SAVED = "It isn't saved as a run: an agent in the cluster or an editor's access token does that."


class ObservedCell:
    """`run`: of `observatory.run`. `client` is None where there is none."""

    def __init__(self, run: Any, client: Any, output: CellOutput) -> None:
        self._run = run
        self._client = client
        self._output = output
        self._connection = read_settings().connection(TIMEOUT)
        self._ended = threading.Event()
        self._cluster: int | None = None
        """its number in Observatory"""
        self._figures: dict[str, Any] = {}
        """the newest ones (GET /api/v1/clusters/{id}/notebook/cell)"""

    def begin(self) -> None:
        """Opens the run, and shows the panel."""
        if self._client is not None:
            self._run.__enter__()
        self._output.show(self._state(), self._local())
        if self._client is not None and self._connection is not None:
            follow = contextvars.copy_context().run  # outputs of the thread are the cell's
            threading.Thread(target=follow, args=(self._follow, self._connection), daemon=True).start()

    def end(self, error: BaseException | None) -> None:
        """Closes the run, and shows its outcome; the thread shows the card."""
        if self._client is None:
            self._output.replace(self._local())
            return
        self._run.__exit__(type(error) if error else None, error, None)
        self._ended.set()
        if self._connection is None:
            self._output.replace(self._local())
        else:
            self._output.update(**{**self._state(), "note": LOOKING, "figures": self._figures})
            self._output.keep(self._local())

    def _follow(self, connection: Connection) -> None:
        """The thread."""
        try:
            pause = 0.0
            while not self._ended.wait(pause):
                began = time.monotonic()
                self._output.update(**self._newest(connection))
                pause = max(INTERVAL, (time.monotonic() - began) / SHARE)
            self._show_result(connection)
        except Exception:  # the kernel, Dask or a library: the cell isn't concerned
            log.debug("the panel of a cell ends", exc_info=True)
            self._output.replace(self._local())

    def _newest(self, connection: Connection) -> dict[str, Any]:
        """What is new in the panel's state."""
        seconds = self._run.seconds
        try:
            if self._cluster is None:
                self._cluster = find_cluster(connection, self._client)
            if self._cluster is None:
                return {"seconds": seconds, "note": WAITING if self._run.is_recorded else UNKNOWN_CLUSTER}
            self._figures = connection.json(f"/clusters/{self._cluster}/notebook/cell", seconds=seconds)
        except ObservatoryError as error:
            return {"seconds": seconds, "note": str(error)}
        note = "" if self._figures["at"] >= self._figures["since"] else WAITING
        return {"seconds": seconds, "note": note, "figures": self._figures}

    def _show_result(self, connection: Connection) -> None:
        """The card of the run, until it is final."""
        deadline = time.monotonic() + FINAL
        try:
            run = self._ended_run(connection) if self._run.is_recorded else self._cut(connection)
            while True:
                shown = run.output.read()
                self._output.replace({"text/html": shown["html"], "text/plain": shown["text"]})
                if shown["is_final"] or time.monotonic() > deadline:
                    return
                time.sleep(PAUSE)
        except ObservatoryError as error:
            self._output.replace(self._without_card(connection, error))

    def _ended_run(self, connection: Connection) -> Run:
        """The run that the agent reported, once it has reported its end. Raises ObservatoryError."""
        deadline = time.monotonic() + ARRIVAL
        while True:
            run = find_run(connection, self._run.id)
            if run["outcome"] != RUNNING or time.monotonic() > deadline:
                return run
            time.sleep(INTERVAL)

    def _cut(self, connection: Connection) -> Run:
        """Saves the cell's time as a run, as no agent did. Raises ObservatoryError."""
        deadline = time.monotonic() + ARRIVAL
        seconds, ended = self._run.seconds, time.monotonic()
        while self._figures.get("at", 0.0) < self._figures.get("since", 0.0) + seconds:
            if time.monotonic() > deadline:
                break
            time.sleep(INTERVAL)
            self._newest_until(connection, seconds + time.monotonic() - ended)
        if self._cluster is None or not self._figures:
            raise ObservatoryError(0, UNKNOWN_CLUSTER)
        since = self._figures["since"]
        name = self._run.description["name"]
        window = {"cluster": self._cluster, "name": name, "start": since, "stop": since + seconds}
        return Run(connection.post("/runs", window), connection)

    def _newest_until(self, connection: Connection, seconds: float) -> None:
        if self._cluster is None:
            self._cluster = find_cluster(connection, self._client)
        if self._cluster is not None:
            self._figures = connection.json(f"/clusters/{self._cluster}/notebook/cell", seconds=seconds)

    def _without_card(self, connection: Connection, error: ObservatoryError) -> Bundle:
        if self._run.is_recorded or self._cluster is None:
            return local_bundle(self._run, str(error))
        local = local_bundle(self._run, NOT_SAVED)
        path = f"/clusters/{self._cluster}"
        cluster = Output(connection, f"{path}/notebook").bundle(f"{connection.url}{path}/")
        return {
            "text/html": local["text/html"] + cluster["text/html"],
            "text/plain": f"{local['text/plain']}\n{cluster['text/plain']}",
        }

    def _state(self) -> dict[str, Any]:
        """Of the panel, without figures."""
        return {
            "name": self._run.description["name"],
            "outcome": self._run.outcome,
            "seconds": self._run.seconds,
            "url": page_url(self._run) if self._run.is_recorded else "",
            "note": WAITING if self._connection is not None and self._client is not None else self._hint(),
            "figures": {},
        }

    def _local(self) -> Bundle:
        """What is known here."""
        if self._client is None:
            return plain_bundle(f"Run “{self._run.description['name']}”: {NO_CLIENT}")
        return local_bundle(self._run, self._hint())

    def _hint(self) -> str:
        if self._client is None:
            return NO_CLIENT
        if self._connection is not None:
            return ""
        return how_to_show(self._run) if self._run.is_recorded else NO_OBSERVATORY


def find_cluster(connection: Connection, client: Any) -> int | None:
    """The number of the client's cluster; None: Observatory doesn't know it. Raises ObservatoryError."""
    scheduler = str(client.scheduler_info()["id"])
    found = connection.json("/clusters", search=scheduler)["items"]
    return next((int(one["id"]) for one in found if one["scheduler_id"] == scheduler), None)
