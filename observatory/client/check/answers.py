"""Finds the runs that are to be checked, and asks the server about them until it can tell."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from observatory.client.connection import Connection, ObservatoryError

Item = dict[str, Any]

INTERVAL = 2.0
"""seconds between two questions"""
PAGE_SIZE = 200
LONGEST_NAME = 200
NUMBER = re.compile(r"[1-9][0-9]{0,8}")
ADDRESS = re.compile(r"https?://.*/runs/(?P<id>[1-9][0-9]{0,8})/?(?:[?#].*)?")
IN_NAME = "name:"
"""before a name that looks like a number or an address"""


class CheckError(Exception):
    """A run can't be checked; the message says why."""


@dataclass(frozen=True)
class Question:
    """What the runs are checked for."""

    against: str
    limits: Mapping[str, str]
    """parameters of GET /runs/{id}/check by name"""
    wait: float
    """seconds for which the run, its figures and its findings are awaited"""
    project: str = ""
    tag: str = ""
    """`name=value` that a run given by its name has"""
    say: Callable[[str], object] = field(default=lambda line: None)


def answer(connection: Connection, run: str, question: Question) -> Item:
    """The check of a run: a number, an address or a name. Raises CheckError, and ObservatoryError."""
    deadline = time.monotonic() + question.wait
    lacking = ""
    while True:
        missing, found = _asked(connection, run, question, deadline)
        if found is not None and not missing:
            return found
        if time.monotonic() >= deadline:
            if found is not None:
                return found  # without its findings
            raise CheckError(f"{run}: after {question.wait:.0f} s {_lacking(missing, question)}")
        if missing != lacking:
            question.say(f"{run}: {_lacking(missing, question)}, waiting …")
            lacking = missing
        time.sleep(min(INTERVAL, max(deadline - time.monotonic(), 0.0)))


def _asked(connection: Connection, run: str, question: Question, deadline: float) -> tuple[str, Item | None]:
    """What the run lacks, and its check, as far as there is one. A server that restarts is asked again."""
    try:
        number = _number(connection, run, question)
        if number is None:
            return "run", None
        parameters = {"against": question.against, **question.limits}
        found = connection.json(f"/runs/{number}/check", **parameters)
    except ObservatoryError as error:
        if error.status in (0, 429, 502, 503, 504) and time.monotonic() < deadline:
            return str(error), None
        raise
    return str(found["missing"]), found["check"]


def _lacking(missing: str, question: Question) -> str:
    tagged = f" with the tag {question.tag}" if question.tag else ""
    said = {
        "run": f"there is no run of this name{tagged}",
        "end": "the run goes on",
        "figures": "its figures aren't counted yet",
        "findings": "its findings aren't there yet",
    }
    return said.get(missing, missing)


def _number(connection: Connection, run: str, question: Question) -> int | None:
    """The run's number; None: there is no run of this name yet. Raises CheckError."""
    if NUMBER.fullmatch(run):
        return int(run)
    if found := ADDRESS.fullmatch(run):
        if not run.startswith(f"{connection.url}/"):
            raise CheckError(f"{run} isn't of {connection.url}")
        return int(found["id"])
    return _newest(connection, run.removeprefix(IN_NAME), question)


def _newest(connection: Connection, name: str, question: Question) -> int | None:
    if not name.strip() or len(name) > LONGEST_NAME:
        raise CheckError(f"“{name[:40]}” is no name of a run: it has 1 to {LONGEST_NAME} characters")
    filters = {"name": name, "tag": question.tag or None, "project": question.project or None}
    number, pages = 1, 1
    while number <= pages:
        found = connection.json("/runs", **filters, order="-start", page=number, page_size=PAGE_SIZE)
        same = [item for item in found["items"] if item["name"] == name]
        projects = sorted({item["project"] for item in same})
        if len(projects) > 1:
            raise CheckError(f"{name}: there are runs of {', '.join(projects)}: choose one with --project")
        if same:
            return int(same[0]["id"])
        number, pages = number + 1, found["pages"]
    return None
