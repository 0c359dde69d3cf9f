"""A run as other programs read it: what comes out is what the agent of a real cluster told."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import jsonschema
import pandas
import pyarrow.parquet as pq
import pytest

from observatory.exchange.formats import FORMATS
from observatory.exchange.formats.base import Cancelled
from observatory.replay.scope import Scope, Section
from observatory.store.queries.named_records import record_kinds
from observatory.wire.records import Action
from tests.support.observed_cluster import FORMULA, HOSTILE, Observed

KINDS_TOLD = ("transition", "span", "error", "log", "computation", "dependency", "profile", "transfer")


def written(name: str, scope: Scope) -> bytes:
    file = io.BytesIO()
    recorded: list[float] = []
    FORMATS[name].write(scope, "a run", file, recorded.append)
    assert recorded == sorted(recorded), "progress goes forward"
    assert recorded[-1] == 1.0
    return file.getvalue()


def tables(scope: Scope) -> dict[str, pandas.DataFrame]:
    with zipfile.ZipFile(io.BytesIO(written("parquet", scope))) as archive:
        return {
            name.removesuffix(".parquet"): pq.read_table(io.BytesIO(archive.read(name))).to_pandas()
            for name in archive.namelist()
        }


def rows_of_csv(scope: Scope, kind: str) -> list[dict[str, str]]:
    with zipfile.ZipFile(io.BytesIO(written("csv", scope))) as archive:
        return list(csv.DictReader(io.StringIO(archive.read(f"{kind}.csv").decode(), newline="")))


def test_parquet_has_every_record_that_was_told_with_names_in_place_of_ids(observed: Observed) -> None:
    found = tables(observed.scope)
    assert found.keys() == record_kinds().keys()
    for kind in KINDS_TOLD:
        assert len(found[kind]) == len(observed.received.rows[kind]) > 0, kind
    spans, recorded = found["span"], observed.received.rows["span"]
    assert Counter(spans["key"]) == Counter(row["key"] for row in recorded)
    assert Counter(spans["action"]) == Counter(Action(row["action"]).label for row in recorded)
    assert set(spans["worker"]) == {row["worker"] for row in recorded}
    assert set(spans["thread"]) == {int(row["thread"]) for row in recorded}
    assert spans["start"].is_monotonic_increasing
    assert str(spans["start"].dtype) == "datetime64[us, UTC]"
    started = min(row["start"] for row in recorded)
    assert spans["start"].min().timestamp() == pytest.approx(started, abs=1e-6)
    samples = found["sample"]
    process = samples[
        (samples["metric"] == "observatory_worker_memory_bytes")
        & (samples["labels"].map(json.loads) == {"type": "process"})
    ]
    assert (process["value"] > 0).all()
    assert set(process["worker"]) == set(spans["worker"])
    assert set(found["profile"]["stack"]) == set(found["stack"]["stack"])
    assert found["stack"]["frames"].str.contains("sum_slowly").any()


def test_of_a_window_only_its_records_are_written(observed: Observed) -> None:
    spans = tables(observed.scope)["span"]
    start, stop = spans["start"].quantile(0.3), spans["start"].quantile(0.6)
    scope = Scope(observed.cluster, int(start.timestamp() * 1e6), int(stop.timestamp() * 1e6))
    inside = tables(scope)["span"]
    assert len(inside) == ((spans["start"] < stop) & (spans["stop"] > start)).sum() < len(spans)


def test_what_may_hold_secrets_is_left_out_where_the_scope_says_so(observed: Observed) -> None:
    found = tables(replace(observed.scope, sections=frozenset()))
    assert not found.keys() & {"log", "profile", "stack"}
    assert not {"message", "traceback", "function", "arguments"} & set(found["error"])
    assert "code" not in found["computation"]
    assert "log" in tables(replace(observed.scope, sections=frozenset({Section.LOGS})))
    [profile] = json.loads(written("speedscope", replace(observed.scope, sections=frozenset())))["profiles"]
    assert profile["samples"] == []


def test_csv_has_the_same_rows_and_no_cell_that_a_spreadsheet_would_run(observed: Observed) -> None:
    rows = rows_of_csv(observed.scope, "span")
    spans = tables(observed.scope)["span"]
    assert [row["action"] for row in rows] == list(spans["action"])
    assert [pandas.Timestamp(row["start"]) for row in rows] == list(spans["start"])
    keys = {row["key"] for row in rows}
    assert f"'{FORMULA}" in keys
    assert f"len-{HOSTILE}" in keys
    assert not any(key.startswith(("=", "+", "-", "@")) for key in keys)


@pytest.fixture
def trace(observed: Observed) -> dict[str, Any]:
    content = json.loads(gzip.decompress(written("trace", observed.scope)))
    assert isinstance(content, dict)
    return content


NUMBER, TEXT, OBJECT = {"type": "number"}, {"type": "string"}, {"type": "object"}
WHERE = {"pid": {"type": "integer"}, "tid": {"type": "integer"}, "ts": NUMBER, "name": TEXT, "args": OBJECT}


def event_schema(phase: str, **properties: Any) -> dict[str, Any]:
    described = {**WHERE, "ph": {"const": phase}, **properties}
    return {
        "type": "object",
        "properties": described,
        "required": list(described),
        "additionalProperties": False,
    }


# the fields that the documentation of the Trace Event Format lists for each phase
TRACE_EVENT = {
    "oneOf": [
        event_schema("X", dur={"type": "number", "minimum": 0}, cat=TEXT),
        event_schema("C", args={"type": "object", "additionalProperties": NUMBER}),
        event_schema("i", s={"enum": ["g", "p", "t"]}, cat=TEXT),
        event_schema(
            "M",
            name={"enum": ["process_name", "process_sort_index", "thread_name", "thread_sort_index"]},
        ),
    ]
}


def test_every_event_of_a_trace_has_the_fields_that_the_format_documents(trace: dict[str, Any]) -> None:
    assert trace.keys() == {"displayTimeUnit", "otherData", "traceEvents"}
    validator = jsonschema.Draft202012Validator(TRACE_EVENT)
    assert {event["ph"] for event in trace["traceEvents"]} == {"X", "C", "i", "M"}
    for event in trace["traceEvents"]:
        assert not list(validator.iter_errors(event)), event


def test_a_trace_has_every_span_on_the_thread_of_its_worker(
    trace: dict[str, Any], observed: Observed
) -> None:
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    recorded = observed.received.rows["span"]
    assert Counter((span["args"]["key"], span["cat"]) for span in spans) == Counter(
        (row["key"], Action(row["action"]).label) for row in recorded
    )
    slow = [span["dur"] for span in spans if span["name"] == "sum_slowly" and span["cat"] == "compute"]
    assert max(slow) == pytest.approx(1.2e6, rel=0.2)
    names = {
        event["pid"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "process_name"
    }
    for address in {row["worker"] for row in recorded}:
        assert any(address in name for name in names.values())
    computing = {(span["pid"], span["tid"]) for span in spans if span["cat"] == "compute"}
    assert len(computing) == len({(row["worker"], row["thread"]) for row in recorded if row["action"] == 0})


def test_on_a_thread_of_a_trace_nothing_overlaps(trace: dict[str, Any]) -> None:
    ends: dict[tuple[int, int], float] = defaultdict(float)
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    for span in sorted(spans, key=lambda span: float(span["ts"])):
        thread = (span["pid"], span["tid"])
        assert span["ts"] >= ends[thread]
        ends[thread] = span["ts"] + span["dur"]


# after the types that speedscope's own description of its format declares (src/lib/file-format-spec.ts)
SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "name": TEXT,
        "exporter": TEXT,
        "activeProfileIndex": NUMBER,
        "shared": {
            "type": "object",
            "required": ["frames"],
            "additionalProperties": False,
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "additionalProperties": False,
                        "properties": {"name": TEXT, "file": TEXT, "line": NUMBER, "col": NUMBER},
                    },
                }
            },
        },
        "profiles": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "sampled"},
                    "name": TEXT,
                    "unit": {
                        "enum": ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"]
                    },
                    "startValue": NUMBER,
                    "endValue": NUMBER,
                    "samples": {
                        "type": "array",
                        "items": {"type": "array", "items": {"type": "integer", "minimum": 0}},
                    },
                    "weights": {"type": "array", "items": NUMBER},
                },
            },
        },
    },
}


def test_profiles_are_speedscopes_with_every_sample(observed: Observed) -> None:
    content = json.loads(written("speedscope", observed.scope))
    jsonschema.Draft202012Validator(SPEEDSCOPE).validate(content)
    frames = content["shared"]["frames"]
    profiles = {profile["name"]: profile for profile in content["profiles"]}
    recorded = observed.received.rows["profile"]
    wanted = {
        "All tasks": [row for row in recorded if row["source"] == "task"],
        "Tasks: sum_slowly": [row for row in recorded if row["prefix"] == "sum_slowly"],
    }
    loops = [row for row in recorded if row["source"] == "event-loop"]
    if loops:
        wanted["Event loops of the workers"] = [row for row in loops if row["worker"]]
    for name, rows in wanted.items():
        profile = profiles[name]
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"] == sum(row["count"] for row in rows) > 0
        assert max(map(max, profile["samples"])) < len(frames)
    in_tasks = {frames[frame]["name"] for sample in profiles["All tasks"]["samples"] for frame in sample}
    assert "sum_slowly" in in_tasks


@pytest.mark.parametrize("name", ["parquet", "csv", "trace", "html"])
def test_an_export_that_is_not_wanted_any_more_stops(observed: Observed, name: str) -> None:
    def cancel(done: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        FORMATS[name].write(observed.scope, "a run", io.BytesIO(), cancel)
