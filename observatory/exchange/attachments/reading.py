"""Recognises profiles and traces by their content. Other files are named for what they are."""

from __future__ import annotations

import re
from pathlib import Path

from observatory.exchange.attachments.json_reader import Event, JsonReader
from observatory.exchange.attachments.recorded_file import LARGEST, RecordedFile
from observatory.exchange.attachments.speedscope_files import read_speedscope
from observatory.exchange.attachments.trace_files import read_trace
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.imports.unpacking import head_of, opened

KNOWN = (
    "profiles in speedscope's format (py-spy record --format speedscope), and traces in the Trace Event "
    "Format (viztracer, py-spy record --format chrometrace), as JSON, also packed with gzip"
)
SPEEDSCOPE, TRACE, DUMP = ("shared", "profiles"), ("traceEvents",), ("scheduler", "workers", "versions")
OTHERS = (
    (re.compile(rb"PK\x03\x04"), "It is a zip file: bundles of an Observatory go to the page Import."),
    (re.compile(rb"\x80[\x02-\x05]"), "It is a pickle, which can run any program when it is read."),
    (re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg", re.IGNORECASE),
     "It is a picture of a profile, which has no times: record with --format speedscope or chrometrace."),
    (re.compile(rb"\s*<", re.IGNORECASE),
     "It is a page: pages of performance_report are imported on the page Import."),
    (re.compile(rb"memray"), "It is a recording of memray, which is of memory, not of time."),
    (re.compile(rb"[^\n\x00]+(?:;[^\n\x00]+)* \d+\r?\n"),
     "It has folded stacks, which have no times: record with --format speedscope or chrometrace."),
)  # fmt: skip


def read_recorded_file(path: Path) -> RecordedFile:
    """Raises Refused, which says what the file is, where it is known, and what can be attached."""
    head = head_of(path)
    if not head:
        raise Refused("The file is empty.")
    if not re.match(rb"(?:\xef\xbb\xbf)?\s*[\[{]", head):
        what = next((sentence for pattern, sentence in OTHERS if pattern.match(head)), "It is no JSON.")
        raise Refused(f"{what} What can be attached: {KNOWN}.")
    return read_speedscope(path) if _kind_of(path) == "speedscope" else read_trace(path)


def _names(reader: JsonReader, event: Event) -> set[str]:
    """Those of an object's members."""
    found = set()
    for name, value in reader.members(event):
        found.add(name)
        reader.skip(value)
    return found


def _kind_of(path: Path) -> str:
    """speedscope or trace. Raises Refused for other JSON."""
    with opened(path, LARGEST) as file:
        reader = JsonReader(file)
        first = reader.take()
        if first[0] == "start_array":
            for event in reader.elements(first):
                names = _names(reader, event)
                if "ph" in names:
                    return "trace"
                if names & {"startstops", "key"}:
                    raise Refused("It is a saved list of get_task_stream: import it on the page Import.")
                break
        for name, event in reader.members(first) if first[0] == "start_map" else ():
            if name in SPEEDSCOPE:
                return "speedscope"
            if name in TRACE:
                return "trace"
            if name in DUMP:
                raise Refused("It looks like a cluster dump of Dask: import it on the page Import.")
            reader.skip(event)
    raise Refused(f"It is JSON, but neither profile nor trace. What can be attached: {KNOWN}.")
