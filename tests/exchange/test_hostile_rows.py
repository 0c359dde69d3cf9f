"""Bundles with rows that Observatory never writes: refused, or read as far as they are sound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from tests.exchange.everything import START
from tests.exchange.hostile import Change, nothing, refused, set_first, twice, with_rows
from tests.support.projects import World

__all__ = ["refused"]


@pytest.mark.parametrize(
    ("table", "change", "reason"),
    [
        ("span", set_first("start", float("nan")), "span.start is nan in a row: that is no time"),
        ("span", set_first("start", float("inf")), "span.start is inf"),
        ("sample", set_first("time", -1e300), "sample.time is -1e"),
        ("sample", set_first("time", 0.0), "sample.time is 0.0"),
        ("span", set_first("stop", START - 1000), "a row of span stops before its start"),
        ("span", set_first("lane_id", 999_999), "span.lane_id refers to lane 999999, which the file hasn't"),
        ("span", set_first("lane_id", 0), "span.lane_id refers to lane 0"),
        ("lane", set_first("worker_id", -7), "lane.worker_id refers to worker -7"),
        ("transition", set_first("worker_id", 999), "transition.worker_id refers to worker 999"),
        ("span", set_first("action", 7), "span.action is 7 in a row: it goes from 0 to 6"),
        ("span", set_first("nbytes", -1), "span.nbytes is -1"),
        ("transition", set_first("finish", 8), "transition.finish is 8"),
        ("prefix", twice, "an id of prefix is there twice"),
        ("prefix", set_first("id", 0), "an id of prefix is there twice, or none"),
        ("prefix", set_first("id", -5), "an id of prefix is there twice, or none"),
        ("event", set_first("detail", "[1]"), "event.detail holds what is no object"),
        ("event", set_first("detail", "{"), "event.detail holds what is no object"),
        ("event", set_first("detail", '{"a":' * 5000), "event.detail holds what is no object"),
        ("error", set_first("id", "../../etc/passwd"), "error.id holds what is no uuid"),
    ],
)
def test_rows_that_lie_are_refused(
    bundle: Path, refused: Callable[[bytes], str], table: str, change: Change, reason: str
) -> None:
    assert reason in refused(with_rows(bundle, table, change))


def test_a_bundle_from_before_a_field_is_read_and_the_field_is_empty(
    bundle: Path, world: World, tmp_path: Path
) -> None:
    def older(values: dict[str, list[Any]]) -> None:
        del values["function"], values["arguments"]

    path = tmp_path / "older"
    path.write_bytes(with_rows(bundle, "error", older))
    cluster = import_file(path, Destination(world.beta), nothing).cluster_id
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT function, arguments FROM error WHERE cluster_id = %s", [cluster])
        assert cursor.fetchall() == [("", "")]


def test_names_that_are_there_twice_are_refused(bundle: Path, refused: Callable[[bytes], str]) -> None:
    def same(values: dict[str, list[Any]]) -> None:
        values["name"] = [values["name"][0]] * len(values["name"])

    assert "rows of prefix cannot be stored: duplicate key" in refused(with_rows(bundle, "prefix", same))


def test_two_workers_with_one_address_are_two_lifetimes(bundle: Path, world: World, tmp_path: Path) -> None:
    def same(values: dict[str, list[Any]]) -> None:
        values["address"] = [values["address"][0]] * len(values["address"])

    path = tmp_path / "same"
    path.write_bytes(with_rows(bundle, "worker", same))
    assert import_file(path, Destination(world.beta), nothing).cluster.project == world.beta


def test_texts_that_no_database_takes_are_cleaned_as_any_others(
    bundle: Path, world: World, tmp_path: Path
) -> None:
    def bad(values: dict[str, list[Any]]) -> None:
        values["name"][0] = "<script>\x00" + "x" * 100_000

    path = tmp_path / "bad"
    path.write_bytes(with_rows(bundle, "prefix", bad))
    run = import_file(path, Destination(world.beta), nothing)
    lanes = world.client("outsider").get(f"/api/v1/clusters/{run.cluster_id}/lanes").json()
    assert max(len(item["name"]) for item in lanes["prefixes"]) == 500


def test_records_of_many_years_are_refused(bundle: Path, refused: Callable[[bytes], str]) -> None:
    def spread(values: dict[str, list[Any]]) -> None:
        values["time"] = [1e9 + 86_400 * day for day in range(401)]
        values["value"] = [1.0] * 401
        values["series_id"] = [values["series_id"][0]] * 401

    assert "more than 400 days" in refused(with_rows(bundle, "sample", spread))


def test_a_long_text_in_each_of_many_rows_is_refused(bundle: Path, refused: Callable[[bytes], str]) -> None:
    def repeat(values: dict[str, list[Any]]) -> None:
        for name, column in values.items():
            text = "x" * 90_000
            values[name] = [text if name == "message" else column[0]] * 20_000

    assert "longer texts, counted once a record" in refused(with_rows(bundle, "log", repeat))
