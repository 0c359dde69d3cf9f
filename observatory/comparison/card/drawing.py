"""What the template of a card draws: its bar of times, histograms and sparkline as SVG coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PureWindowsPath
from typing import Any

from django.conf import settings

from observatory.comparison.card.batch_jobs import drawn_batch_jobs
from observatory.comparison.card.card import card_of
from observatory.comparison.card.schemas import RunCard
from observatory.comparison.card.sparkline import sparkline
from observatory.replay.answers.shared_fields import shown
from observatory.replay.scope import Scope
from observatory.runs.discovery.client_runs import EXCEPTION
from observatory.runs.errors.run_exceptions import is_same, sentence_of
from observatory.runs.models import Run, RunFindings
from observatory.wire.client_code.runs import TRACE, TRACE_SPAN
from observatory.wire.client_code.submitted_code import Frame, around_calls, frames_of_code

BAR = 100.0
"""width of the bar of times"""
COLUMN, HIGHEST, WIDEST = 3, 20, 96
"""of a histogram: width of a column, height of the highest, width of all at most"""

ENDS = frozenset(("run-exception", "run-stopped"))
"""findings that say what ended the code of a run"""
LINES_BEFORE, LINES_AFTER = 4, 20
"""that are shown of code: before a line that submitted tasks or opened a run; after one that opened a run"""
MOST_LINES, LONGEST_LINE = 200, 400
"""of a part of code; characters"""

TRACE_ID = re.compile("[0-9a-f]{32}")
"""a tag that somebody wrote can be anything"""

Item = dict[str, Any]


def drawn_card(run: Run, scope: Scope) -> Item:
    """The context of card.html."""
    card = shown(scope, RunCard, card_of(run, scope))
    history = card["history"]
    own = [card["stop"] - card["start"]] if card["stop"] else []
    return {
        **card,
        "task_count": sum(card["progress"].values()) if card["progress"] else None,
        "trace_url": _trace_url(card["tags"]),
        "tags": {name: tag for name, tag in card["tags"].items() if name != TRACE_SPAN},
        "counted_until": None if card["counted"] is None else datetime.fromtimestamp(card["counted"], UTC),
        "workers_changed": _workers_changed(card),
        "outcome_text": run.get_outcome_display(),
        "main_finding_text": _state_text(card["main_finding"]),
        "headline_error": _headline_error(card) or _unseen_text(run),
        "started": run.start,
        "seconds": own[0] if own else None,
        "bar": _bar(card["times"]),
        "prefixes": [_prefix(prefix) for prefix in card["prefixes"]],
        "frames": _frames(card["code"] or "", LINES_AFTER),
        "more_computations": card["computation_count"] - len(card["computations"]),
        "computations": [
            {
                **each,
                "time": datetime.fromtimestamp(each["time"], UTC),
                "frames": _frames(each["code"] or "", LINES_BEFORE),
            }
            for each in card["computations"]
        ],
        "batch_jobs": drawn_batch_jobs(card["batch_jobs"]),
        "sparkline": sparkline([*history["durations"], *own]) if history else None,
        "unusual": [_unusual(figure) for figure in history["unusual"]] if history else [],
        "notes": [{**note, "time": datetime.fromtimestamp(note["time"], UTC)} for note in card["notes"]],
    }


def _trace_url(tags: Mapping[str, str]) -> str:
    """Where the trace is shown in which the run was opened; "" where none is known."""
    trace = tags.get(TRACE, "")
    return settings.TRACE_URL.replace("{trace}", trace) if TRACE_ID.fullmatch(trace) else ""


def _state_text(main_finding: Item | None) -> str:
    """Why there is no main finding."""
    return str(RunFindings.State(main_finding["state"]).label) if main_finding else ""


def _workers_changed(card: Item) -> bool:
    """Whether workers came or left, so that threads and memory are the most at a time."""
    return card["most_workers"] is not None and card["most_workers"] < max(card["workers"], card["lifetimes"])


def _headline_error(card: Item) -> str:
    """The first error in short, or what ended the code of the run; "" where the main finding says it."""
    error, finding, raised = card["first_error"], card["main_finding"], card["raised"]
    if finding and finding["kind"] in ENDS:
        return ""
    if error is None or (raised and not is_same(*_exception(error), *_exception(raised))):
        return sentence_of(card["tags"].get(EXCEPTION, ""), raised)
    if finding and error["message"] and error["message"] in finding["sentence"]:
        return ""
    return f"{error['type'] or 'Error'} {error['message']}"


def _unseen_text(run: Run) -> str:
    """Why the end of a run was not seen, where it is known."""
    reason = run.cluster.end_reason
    is_known = run.outcome == Run.Outcome.UNSEEN and run.cluster.is_unobserved
    return f"{reason[0].upper()}{reason[1:]}." if is_known else ""


def _exception(found: Item) -> tuple[str, str]:
    return found["type"], found["message"]


def _bar(times: list[Item]) -> list[Item]:
    """The times with the places of their segments; those that are nothing have no segment."""
    segments, left = [], 0.0
    for time in times:
        width = round(BAR * time["share"], 2)
        segments.append({**time, "left": round(left, 2), "width": width})
        left += width
    return segments


def _frames(code: str, after: int) -> list[Item]:
    """The parts of code around the calling lines, each with its place and whether its lines call."""
    return [
        {
            "file": frame.file,
            "place": _place(frame) if frame.calls else "",
            "lines": [
                {
                    "number": number if frame.calls else None,
                    "text": text[:LONGEST_LINE],
                    "calls": number in frame.calls,
                }
                for number, text in enumerate(frame.source.split("\n")[:MOST_LINES], frame.first)
            ],
        }
        for frame in around_calls(frames_of_code(code), LINES_BEFORE, after)
    ]


def _place(frame: Frame) -> str:
    """ "etl.py:12"; the files of notebooks' cells are temporary."""
    if "ipykernel" in frame.file or frame.file.startswith("<"):
        return f"notebook or shell, line {frame.calls[0]}"
    return f"{PureWindowsPath(frame.file).name}:{frame.calls[0]}"


def _prefix(prefix: Item) -> Item:
    """The prefix with the columns of its histogram."""
    return {**prefix, **_columns(dict(prefix["histogram"]))}


def _columns(counts: Mapping[int, int]) -> Item:
    """`counts`: at least one task, by bin."""
    first, highest = min(counts), max(counts.values())
    columns = [
        {"left": COLUMN * (bin - first), "height": max(round(HIGHEST * count / highest, 1), 1.0)}
        for bin, count in sorted(counts.items())
    ]
    for column in columns:
        column["top"] = HIGHEST - column["height"]
    box = COLUMN * (max(counts) - first + 1)
    return {
        "columns": columns,
        "box": box,
        "width": min(box, WIDEST),
        "height": HIGHEST,
    }


def _unusual(figure: Item) -> Item:
    """The figure with how it differs, as a share of the usual value."""
    share = abs(figure["value"] - figure["usual"]) / figure["usual"] if figure["usual"] else None
    return {**figure, "is_more": figure["value"] > figure["usual"], "share": share}
