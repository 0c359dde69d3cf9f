"""A kind of error in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from observatory.clusters.formatting import format_age, format_count, format_percent

NUMBERS = {1: "the worker", 2: "both workers"}


def headline(kind: Mapping[str, Any], count: int, runs: int, age: float) -> str:
    """`kind`: fields of a RunError; `count`: its errors in `runs`; `age`: seconds since the first one."""
    tasks = f"{format_count(count)} error{'' if count == 1 else 's'} in {_runs(runs)}"
    tasks = f"{tasks}, first seen {format_age(age)}"
    if kind["killed"] and kind["deaths"].get("workers"):
        return f"{_deaths(kind)} while running {kind['prefix']}: {tasks}"
    return f"{kind['exception_type'] or 'Error'} in {_place(kind)}: {tasks}"


def _place(kind: Mapping[str, Any]) -> str:
    if not kind["file"]:
        return str(kind["prefix"]) or "the code of the run"
    return f"{kind['function']} ({kind['file']}:{kind['line']})"


def _deaths(kind: Mapping[str, Any]) -> str:
    deaths = kind["deaths"]
    workers, by_memory, share = deaths["workers"], deaths["by_memory"], deaths.get("share")
    who = NUMBERS.get(workers, f"all {format_count(workers)} workers")
    verb, its = ("was", "its") if workers == 1 else ("were", "their")
    at = f" at {format_percent(share)} of memory" if share else " because of memory"
    if by_memory == workers:
        text = f"{who} {verb} killed by {its} nanny{at}"
    elif by_memory:
        text = f"{who} died, {format_count(by_memory)} killed by their nanny{at}"
    else:
        text = f"{who} died"
    return text[0].upper() + text[1:]


def _runs(runs: int) -> str:
    return f"{format_count(runs)} run{'' if runs == 1 else 's'}"
