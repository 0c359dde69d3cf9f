"""Reads profiles in the format of speedscope, which py-spy, austin and others write.

A file is read twice, piece by piece: at first its frames and durations, then its stacks.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from observatory.exchange.attachments.json_reader import Event, JsonReader
from observatory.exchange.attachments.recorded_file import (
    LARGEST,
    MOST_THREADS,
    Interval,
    RecordedFile,
    RecordedThread,
)
from observatory.exchange.attachments.stack_tree import MOST_FRAMES, ROOT, StackTree, frame_line, line_number
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.imports.unpacking import opened

UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
NAMED = re.compile(r"(?:Process (?P<pid>\d{1,9}) )?Thread (?P<thread>\S+)(?: \"(?P<name>.*)\")?", re.DOTALL)
"""as py-spy names profiles"""
NO_IDLE = (
    "py-spy leaves idle time out of its speedscope files unless it runs with --idle: what comes after it "
    "stands too early on the timeline. Files of --format chrometrace have the true times."
)


@dataclass(slots=True)
class _Profile:
    type: str = ""
    name: str = ""
    unit: str = "none"
    start: float = 0.0
    stop: float = 0.0
    weights: array[float] = field(default_factory=lambda: array("d"))
    last: float = 0.0
    """the time of the last event"""

    @property
    def factor(self) -> float:
        """Seconds of its unit."""
        return UNITS[self.unit]


def read_speedscope(path: Path) -> RecordedFile:
    """Raises Refused."""
    reading = _Reading(path)
    profiles = reading.profiles
    if not profiles:
        raise Refused("The file has no profile.")
    for profile in profiles:
        if profile.unit not in UNITS:
            raise Refused(
                f"The profile {profile.name[:100]!r} counts {profile.unit[:50]!r}, not time: it can't lie on "
                "a timeline."
            )
    start = min(profile.start * profile.factor for profile in profiles)
    seconds = max(_stop(profile) for profile in profiles) - start
    idle = reading.exporter.startswith("py-spy") and any(each.type == "sampled" for each in profiles)
    return RecordedFile(
        "speedscope",
        [_thread(profile.name) for profile in profiles],
        seconds,
        None,
        reading.tree,
        reading.intervals(start),
        [NO_IDLE] if idle else [],
    )


def _stop(profile: _Profile) -> float:
    sampled = profile.start + sum(profile.weights)
    return max(sampled, profile.last if profile.type == "evented" else 0.0) * profile.factor


def _thread(name: str) -> RecordedThread:
    found = NAMED.fullmatch(name)
    if found is None:
        return RecordedThread("", None, name)
    thread = found["name"] or found["thread"]
    pid = found["pid"]
    return RecordedThread(f"process {pid}" if pid else "", int(pid) if pid else None, thread)


class _Reading:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.tree = StackTree()
        self.exporter = ""
        self.profiles: list[_Profile] = []
        self._frames: list[int] = []
        with opened(path, LARGEST) as file:
            reader = JsonReader(file)
            for name, event in reader.members(reader.take()):
                if name == "shared":
                    self._read_frames(reader, event)
                elif name == "profiles":
                    for each in reader.elements(event):
                        self._read_profile(reader, each)
                elif name == "exporter":
                    self.exporter = reader.text(event)
                else:
                    reader.skip(event)

    def _read_frames(self, reader: JsonReader, event: Event) -> None:
        for name, value in reader.members(event):
            if name != "frames":
                reader.skip(value)
                continue
            for frame in reader.elements(value):
                if len(self._frames) >= MOST_FRAMES:
                    raise Refused(f"The file has more than {MOST_FRAMES:,} frames.")
                known = {"name": "", "file": "", "line": ""}
                for part, of in reader.members(frame):
                    if part in known:
                        known[part] = reader.text(of)
                    else:
                        reader.skip(of)
                line = line_number(known["line"])
                self._frames.append(self.tree.frame(frame_line(known["name"], known["file"], line)))

    def _read_profile(self, reader: JsonReader, event: Event) -> None:
        if len(self.profiles) >= MOST_THREADS:
            raise Refused(f"The file has more than {MOST_THREADS} threads.")
        profile = _Profile()
        self.profiles.append(profile)
        for name, value in reader.members(event):
            if name in ("type", "name", "unit"):
                setattr(profile, name, reader.text(value))
            elif name == "startValue":
                profile.start = reader.number(value)
            elif name == "weights":
                profile.weights.extend(max(reader.number(each), 0.0) for each in reader.elements(value))
            elif name == "events":
                for each in reader.elements(value):
                    profile.last = max(profile.last, _event(reader, each)[1])
            else:
                reader.skip(value)

    def intervals(self, start: float) -> Iterator[Interval]:
        """Of all profiles; `start`: seconds on their clock."""
        with opened(self._path, LARGEST) as file:
            reader = JsonReader(file)
            for name, event in reader.members(reader.take()):
                if name != "profiles":
                    reader.skip(event)
                    continue
                for number, each in enumerate(reader.elements(event)):
                    profile = self.profiles[number]
                    for part, value in reader.members(each):
                        if part == "samples" and profile.type == "sampled":
                            yield from self._sampled(number, profile, reader, value, start)
                        elif part == "events" and profile.type == "evented":
                            yield from self._evented(number, profile, reader, value, start)
                        else:
                            reader.skip(value)

    def _sampled(
        self, number: int, profile: _Profile, reader: JsonReader, event: Event, start: float
    ) -> Iterator[Interval]:
        at = profile.start
        for place, sample in enumerate(reader.elements(event)):
            node = ROOT
            for frame in reader.elements(sample):
                node = self.tree.child(node, self._frame(reader.number(frame)))
            if place >= len(profile.weights):
                raise Refused("A profile has more samples than weights.")
            stop = at + profile.weights[place]
            yield number, at * profile.factor - start, stop * profile.factor - start, node
            at = stop

    def _evented(
        self, number: int, profile: _Profile, reader: JsonReader, event: Event, start: float
    ) -> Iterator[Interval]:
        nodes, at = [ROOT], profile.start
        for each in reader.elements(event):
            kind, moment, frame = _event(reader, each)
            if moment < at:
                raise Refused("The events of a profile aren't in order of time.")
            if nodes[-1] != ROOT:
                yield number, at * profile.factor - start, moment * profile.factor - start, nodes[-1]
            at = moment
            if kind == "O":
                nodes.append(self.tree.child(nodes[-1], self._frame(frame)))
            elif kind == "C" and len(nodes) > 1:
                nodes.pop()

    def _frame(self, number: float) -> int:
        if not 0 <= number < len(self._frames):
            raise Refused("A stack names a frame that the file doesn't have.")
        return self._frames[int(number)]


def _event(reader: JsonReader, event: Event) -> tuple[str, float, float]:
    """The kind, time and frame of an event of an evented profile."""
    kind, moment, frame = "", 0.0, -1.0
    for name, value in reader.members(event):
        if name == "type":
            kind = reader.text(value)
        elif name == "at":
            moment = reader.number(value)
        elif name == "frame":
            frame = reader.number(value)
        else:
            reader.skip(value)
    return kind, moment, frame
