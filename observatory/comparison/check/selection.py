"""The runs that a run is checked against, as text: `last:10`, `last:10 of main`, `run:41,42`.

    selection = "last:" NUMBER [" of " BRANCH | " of " TAG "=" VALUE]  |  "run:" ID {"," ID}

`last` are the newest finished runs of the same name and project before the run; `of main` leaves those whose
tag `branch` is main.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.core.exceptions import ValidationError

from observatory.clusters.access import Person
from observatory.comparison.run_selection import MOST_EARLIER, finished_before, runs_of_name
from observatory.runs.access import get_run
from observatory.runs.models import Run
from observatory.runs.tags import parse_tag
from observatory.wire.client_code.ci import BRANCH

LONGEST = 500
FORMS = "“last:10”, “last:10 of main” (a branch), “last:10 of TAG=VALUE” or “run:41,42”"
LAST = re.compile(r"last:\s*(?P<number>\S+)(?:\s+of\s+(?P<of>.*))?")
IDS = re.compile(r"run:\s*(?P<ids>.*)")
ID = re.compile(r"[1-9][0-9]{0,8}")


class SelectionError(ValueError):
    """A selection that can't be read; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Either the `last` runs with a tag, or the runs with these `ids`."""

    last: int = 0
    tag: tuple[str, str] | None = None
    """name and value; None: whatever their tags"""
    ids: tuple[int, ...] = ()


def parse_selection(text: str) -> Selection:
    """Raises SelectionError."""
    if len(text) > LONGEST:
        raise SelectionError(f"it has {len(text):,} characters: at most {LONGEST} can be read")
    if found := LAST.fullmatch(text.strip()):
        return Selection(_number(found["number"]), None if found["of"] is None else _tag(found["of"]))
    if found := IDS.fullmatch(text.strip()):
        return Selection(ids=_ids(found["ids"]))
    raise SelectionError(f"“{_short(text)}” selects no runs: write {FORMS}")


def select(user: Person, run: Run, selection: Selection) -> list[Run]:
    """The selected runs that `user` may see, newest first, without `run`. Raises Http404 for unknown ids."""
    if selection.ids:
        found = {other: get_run(user, other) for other in selection.ids if other != run.pk}
        return sorted(found.values(), key=lambda each: (each.start, each.pk), reverse=True)
    runs = runs_of_name(user, run.name, run.cluster.project.slug)
    if selection.tag is not None:
        name, value = selection.tag
        runs = runs.filter(tags__contains={name: value})
    return list(finished_before(runs, run.start, run.pk)[: selection.last])


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise SelectionError(f"“last:{_short(text)}”: “{_short(text)}” is no number of runs; write {FORMS}")
    if not 1 <= int(text) <= MOST_EARLIER:
        raise SelectionError(f"“last:{text}”: a run can be checked against 1 to {MOST_EARLIER} runs")
    return int(text)


def _tag(text: str) -> tuple[str, str]:
    if not text.strip():
        raise SelectionError("after “of” the name of a branch is missing")
    try:
        return parse_tag(text if "=" in text else f"{BRANCH}={text}")
    except ValidationError as error:
        raise SelectionError(error.message) from None


def _ids(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if wrong := [part for part in parts if not ID.fullmatch(part)]:
        raise SelectionError(f"“run:{_short(text)}”: “{_short(wrong[0])}” is no number of a run")
    ids = tuple(dict.fromkeys(map(int, parts)))
    if len(ids) > MOST_EARLIER:
        raise SelectionError(f"“run:…” names {len(ids)} runs: at most {MOST_EARLIER} can be compared")
    return ids


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
