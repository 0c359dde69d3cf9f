"""Every declared kind of record comes the same through every door: API, client, CSV, Parquet, bundle."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from observatory.client import ObservatoryClient
from observatory.client.connection import Connection
from observatory.clusters.tokens import access_tokens
from observatory.exchange.formats import FORMATS
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.queries.named_records import record_kinds
from observatory.wire.kinds import stored_kinds
from tests.exchange.files import export
from tests.support.projects import World

NOT_IN_BUNDLES = {
    ("stack", "stack"),
    ("profile", "stack"),
    ("worker", "ended"),
    ("worker", "end_reason"),
    ("worker", "status"),
}
"""columns with ids of this database, and those that tell of the time after the run"""
Rows = Counter[tuple[Any, ...]]


def test_every_kind_of_record_comes_the_same_through_every_door(
    run: Run, world: World, live_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = access_tokens.make(world.people["viewer"], "notebook", None)
    client = ObservatoryClient(live_server.url, secret)
    declared = {kind.name for kind in stored_kinds()}
    types = client.kinds(run.pk)
    assert types.keys() == record_kinds().keys() >= declared
    csv_files, parquet_files = _files("csv", run), _files("parquet", run)
    whole = {kind: client.records(run.pk, kind) for kind in types}
    monkeypatch.setattr(Connection, "get", _in_pages(Connection.get, 1))
    paged = {kind: client.records(run.pk, kind) for kind in types}
    imported = import_file(
        export(run, tmp_path / "run.observatory.zip"), Destination(world.beta), lambda done: None
    )
    _, theirs = access_tokens.make(world.people["outsider"], "notebook", None)
    copy = ObservatoryClient(live_server.url, theirs)
    for kind, columns in types.items():
        found = _rows(columns, _of_frame(whole[kind]))
        assert found, kind
        assert _rows(columns, _of_frame(paged[kind])) == found, f"{kind}, a row at once"
        table = pq.read_table(io.BytesIO(parquet_files[f"{kind}.parquet"])).to_pandas()
        assert _rows(columns, _of_frame(table)) == found, f"{kind} as Parquet"
        lines = csv.DictReader(io.StringIO(csv_files[f"{kind}.csv"].decode(), newline=""))
        assert _rows(columns, lines) == found, f"{kind} as CSV"
        kept = {name: type for name, type in columns.items() if (kind, name) not in NOT_IN_BUNDLES}
        again = _of_frame(copy.records(imported.pk, kind))
        assert _rows(kept, again) == _rows(kept, _of_frame(whole[kind])), f"{kind} in a bundle"


def _in_pages(get: Callable[..., bytes], limit: int) -> Callable[..., bytes]:
    return lambda self, path, parameters: get(self, path, {**parameters, "limit": limit})


def _files(format: str, run: Run) -> dict[str, bytes]:
    written = io.BytesIO()
    FORMATS[format].write(scope_of_run(run), run.name, written, lambda done: None)
    with zipfile.ZipFile(written) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _of_frame(frame: pd.DataFrame) -> Iterable[dict[str, Any]]:
    return frame.to_dict("records")  # type: ignore[return-value]


def _rows(types: dict[str, str], rows: Iterable[dict[str, Any]]) -> Rows:
    return Counter(tuple(_value(row[name], type) for name, type in types.items()) for row in rows)


def _value(value: Any, type: str) -> Any:
    """A value of any door as the same object: texts, JSON in one form, numbers and times as floats."""
    if type == "text":
        return value
    if type == "json":
        return json.dumps(json.loads(value), sort_keys=True)
    if value == "" or pd.isna(value) or value == "nan":
        return None
    return round(pd.Timestamp(value).timestamp(), 6) if type == "time" else float(value)
