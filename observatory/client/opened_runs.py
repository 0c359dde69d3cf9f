"""What notebooks show of the runs that `observatory.run` opened."""

from __future__ import annotations

import time
from html import escape
from typing import Any, Protocol
from uuid import UUID

from observatory.client.connection import TOKEN, URL, Connection, ObservatoryError
from observatory.client.run import Run
from observatory.client.settings import read_settings
from observatory.client.shown import Bundle, plain_bundle
from observatory.wire.client_code.runs import RUNNING, page_of_run
from observatory.wire.records import printable

TIMEOUT = 20.0
"""most seconds that the output of a cell waits for one answer"""
ARRIVAL = 10.0
"""seconds in which an agent's report of a run arrives, as a rule"""
NOT_FOUND = 404


class OpenedRun(Protocol):
    """agent/runs.py's OpenRun."""

    id: str
    description: dict[str, Any]
    outcome: str
    server: str
    file: str

    @property
    def seconds(self) -> float: ...
    @property
    def is_recorded(self) -> bool: ...


def bundle(opened: OpenedRun) -> Bundle:
    """The run as Observatory knows it; without an answer, what is known here and how to see more."""
    if not opened.outcome:
        return plain_bundle(f"Run “{opened.description['name']}”: not started")
    if not opened.is_recorded:
        return plain_bundle(f"{headline(opened)}. It isn't recorded: see the warning above.")
    if opened.file:
        verb = "will be" if opened.outcome == RUNNING else "is"
        return local_bundle(opened, f"It {verb} in {opened.file}, which any Observatory imports.")
    connection = read_settings().connection(TIMEOUT)
    if connection is None:
        return local_bundle(opened, how_to_show(opened))
    try:
        return find_run(connection, opened.id)._repr_mimebundle_()
    except ObservatoryError as error:
        return local_bundle(opened, str(error))


def how_to_show(opened: OpenedRun) -> str:
    """What is missing to show a recorded run, "" where nothing tells the server's address."""
    server = _server_of(opened)
    hint = f"set {URL} to {server} and {TOKEN} to an access token of {server}/account/tokens/"
    return f"To show it here, {hint}" if server else ""


def find_run(connection: Connection, id: str, patience: float = ARRIVAL) -> Run:
    """The run with the id that client code gave it. Waits for its report. Raises ObservatoryError."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return Run(connection.json(f"/runs/code/{UUID(id)}"), connection)
        except ObservatoryError as error:
            if error.status != NOT_FOUND or time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def page_url(opened: OpenedRun) -> str:
    """The address of its page, "" where none is known."""
    return page_of_run(_server_of(opened), opened.id)


def _server_of(opened: OpenedRun) -> str:
    """The address that is set, else that which the agent told, to which no token goes."""
    return read_settings().url or opened.server


def local_bundle(opened: OpenedRun, hint: str) -> Bundle:
    """What the client knows of a run, and `hint`."""
    url, known = page_url(opened) if opened.is_recorded and not opened.file else "", headline(opened)
    link = f' · <a href="{escape(url)}" target="_blank" rel="noopener noreferrer">Open in Observatory</a>'
    html = f"<div>{escape(known)}{link if url else ''}"
    lines = [known, f"  {url}" if url else "", f"  {hint}" if hint else ""]
    return {
        "text/html": f'{html}<div style="opacity:.75">{escape(hint)}</div></div>',
        "text/plain": "\n".join(printable(line) for line in lines if line),
    }


def headline(opened: OpenedRun) -> str:
    return f"Run “{opened.description['name']}”: {opened.outcome}, {opened.seconds:.1f} s"
