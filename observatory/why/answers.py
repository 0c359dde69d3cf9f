"""The answers to why a window went as it did."""

from __future__ import annotations

from functools import partial

import psycopg

from observatory.replay.answers.window_answer import Item, WindowAnswer
from observatory.replay.scope import Scope
from observatory.why.findings.schemas import Findings
from observatory.why.kept import Name, explained
from observatory.why.marks.marked import marked_findings
from observatory.why.schemas import CriticalPathAnswer, ThreadTimes
from observatory.why.what_if.answer import what_if
from observatory.why.what_if.schemas import WhatIf


def _kept(name: Name, connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    return explained(connection, scope, name, after, before)


ANSWERS = (
    WindowAnswer(
        "thread-times",
        "Where the time of the workers' threads went in after ≤ time < before, and why they were idle.",
        ThreadTimes,
        partial(_kept, "thread-times"),
    ),
    WindowAnswer(
        "critical-path",
        "What each step in after ≤ time < before had to wait for, from the last task backwards.",
        CriticalPathAnswer,
        partial(_kept, "critical-path"),
    ),
    WindowAnswer(
        "findings",
        "The causes of lost time or failure in after ≤ time < before, the most costly first.",
        Findings,
        marked_findings,
    ),
    WindowAnswer(
        "what-if",
        "Which changes would have made after ≤ time < before shorter, from a simulation of its graph.",
        WhatIf,
        what_if,
    ),
)
