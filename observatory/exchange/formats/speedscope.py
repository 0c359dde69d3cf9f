"""Speedscope export: profiles of all tasks, of each prefix, of native stacks, and of the event loops."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import IO, Any

from observatory.exchange.formats.base import Progress
from observatory.replay.scope import Scope, Section
from observatory.store.connection import read_connection
from observatory.store.queries.stacks import stack_counts, stack_frames
from observatory.store.queries.timeline import snapshot
from observatory.wire.records import SOURCES

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
TASK, NATIVE = SOURCES.index("task"), SOURCES.index("native")
STACKS_AT_ONCE = 5_000


class Speedscope:
    name = "speedscope"
    label = "Profiles for speedscope (JSON)"
    suffix = ".speedscope.json"
    content_type = "application/json"

    def write(self, scope: Scope, title: str, file: IO[bytes], progress: Progress) -> None:
        profiles: dict[str, dict[int, int]] = {"All tasks": {}}
        frames = _Frames()
        with read_connection() as connection, snapshot(connection):
            if Section.CODE in scope.sections:
                rows = stack_counts(connection, scope.cluster.pk, scope.start, scope.stop)
                profiles = _by_profile(rows)
            stacks = sorted({stack for counts in profiles.values() for stack in counts})
            samples: dict[int, list[int]] = {}
            for start in range(0, len(stacks), STACKS_AT_ONCE):
                progress(start / len(stacks))
                some = stacks[start : start + STACKS_AT_ONCE]
                for stack, lines in stack_frames(connection, scope.cluster.pk, some):
                    samples[stack] = [frames.index(line) for line in lines.splitlines()]
        content = {
            "$schema": SCHEMA,
            "name": title,
            "exporter": "dask-observatory",
            "activeProfileIndex": 0,
            "shared": {"frames": frames.found},
            "profiles": [_profile(name, counts, samples) for name, counts in profiles.items()],
        }
        file.write(json.dumps(content, separators=(",", ":")).encode())
        progress(1.0)


def _by_profile(rows: Sequence[tuple[int, bool, str, int, int]]) -> dict[str, dict[int, int]]:
    """Samples by stack, for each profile: all tasks first, then by number of samples."""
    found: dict[str, dict[int, int]] = {"All tasks": {}}
    for source, in_scheduler, prefix, stack, count in rows:
        for name in _names(source, in_scheduler, prefix):
            counts = found.setdefault(name, {})
            counts[stack] = counts.get(stack, 0) + count
    first, *others = found
    return {
        name: found[name] for name in (first, *sorted(others, key=lambda name: -sum(found[name].values())))
    }


def _names(source: int, in_scheduler: bool, prefix: str) -> Iterable[str]:
    if source == TASK:
        return ("All tasks", f"Tasks: {prefix}") if prefix else ("All tasks",)
    if source == NATIVE:
        return ("Native stacks of all tasks",)
    return ("Event loop of the scheduler",) if in_scheduler else ("Event loops of the workers",)


def _profile(name: str, counts: dict[int, int], samples: dict[int, list[int]]) -> dict[str, Any]:
    weights = [count for stack, count in counts.items() if stack in samples]
    return {
        "type": "sampled",
        "name": name,
        "unit": "none",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [samples[stack] for stack in counts if stack in samples],
        "weights": weights,
    }


class _Frames:
    """Collects distinct frames."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._indices: dict[str, int] = {}

    def index(self, line: str) -> int:
        """Index of the frame in a line of a stack: name, file and line, tab-separated."""
        if line not in self._indices:
            self._indices[line] = len(self.found)
            name, file, number = (*line.split("\t"), "", "")[:3]
            frame: dict[str, Any] = {"name": name or "?"}
            if file:
                frame["file"] = file
            if number.isascii() and number.isdecimal():
                frame["line"] = int(number)
            self.found.append(frame)
        return self._indices[line]
