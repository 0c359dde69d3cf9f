"""Bundles that were changed, and what importing them says."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import Refused
from observatory.wire.blocks import Block, Column, decode, encode, number_column, text_column
from tests.exchange.files import Store
from tests.support.projects import World

Change = Callable[[dict[str, list[Any]]], None]


def nothing(done: float) -> None:
    pass


@pytest.fixture
def refused(tmp_path: Path, world: World, store: Store) -> Callable[[bytes], str]:
    """Imports the bytes, sees that they are refused and leave nothing; gives the reason."""

    def attempt(data: bytes) -> str:
        path = tmp_path / "hostile"
        path.write_bytes(data)
        before = store.counts()
        with pytest.raises(Refused) as refusal:
            import_file(path, Destination(world.beta), nothing)
        assert store.counts() == before
        return str(refusal.value)

    return attempt


def repacked(bundle: Path, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """The bundle with other files in it."""
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def with_manifest(bundle: Path, change: Callable[[dict[str, Any]], None]) -> bytes:
    def changed(files: dict[str, bytes]) -> None:
        manifest = json.loads(files["manifest.json"])
        change(manifest)
        files["manifest.json"] = json.dumps(manifest).encode()

    return repacked(bundle, changed)


def with_rows(bundle: Path, table: str, change: Change) -> bytes:
    """The bundle with other rows of one table, whose checksum and counts are right."""

    def changed(files: dict[str, bytes]) -> None:
        (block,) = decode(files[f"{table}.blocks"])
        values = {name: block.list(name) for name in block.columns}
        change(values)
        rows = len(next(iter(values.values())))
        columns = [_column(block, name, values[name]) for name in values]
        data = encode(table, rows, columns)
        _put(files, table, data, rows)

    return repacked(bundle, changed)


def _column(block: Block, name: str, values: list[Any]) -> Column:
    type = block.columns[name].type
    return text_column(name, values) if type == "text" else number_column(name, type, values)


def _put(files: dict[str, bytes], table: str, data: bytes, rows: int) -> None:
    files[f"{table}.blocks"] = data
    manifest = json.loads(files["manifest.json"])
    manifest["parts"][table] = {
        "rows": rows,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    files["manifest.json"] = json.dumps(manifest).encode()


def set_first(column: str, value: Any) -> Change:
    def change(values: dict[str, list[Any]]) -> None:
        values[column][0] = value

    return change


def twice(values: dict[str, list[Any]]) -> None:
    for column in values.values():
        column.append(column[0])
