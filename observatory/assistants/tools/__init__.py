"""The tools, a module each: a function that reads the API, and shortens what it answers."""

from __future__ import annotations

from observatory.assistants.tools.alerts_and_events import alerts_and_events
from observatory.assistants.tools.compare_runs import compare_runs
from observatory.assistants.tools.critical_path import critical_path
from observatory.assistants.tools.errors import errors
from observatory.assistants.tools.find_runs import find_runs
from observatory.assistants.tools.logs import logs
from observatory.assistants.tools.memory import memory
from observatory.assistants.tools.metrics import metrics
from observatory.assistants.tools.prefixes import prefixes
from observatory.assistants.tools.run_card import run_card
from observatory.assistants.tools.search import search
from observatory.assistants.tools.task import task
from observatory.assistants.tools.transfers import transfers
from observatory.assistants.tools.why import why
from observatory.assistants.tools.workers import workers

FUNCTIONS = (
    *(find_runs, search, run_card, why, critical_path, compare_runs, errors, logs, task, metrics, workers),
    *(prefixes, transfers, memory, alerts_and_events),
)
"""in the order in which assistants are told of them"""
