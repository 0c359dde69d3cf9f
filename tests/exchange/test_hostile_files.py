"""Broken and hostile files are refused with the reason, and nothing of them is left anywhere."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import zipfile
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import psycopg
import pytest
from django.conf import LazySettings

from observatory.exchange.formats.base import Cancelled
from observatory.exchange.imports import cluster_dumps as dumps
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import Refused
from observatory.store.transfer.extract_tables import tables
from observatory.wire.blocks import Column, encode, number_column
from tests.exchange.everything import START
from tests.exchange.files import Store
from tests.exchange.hostile import _put, nothing, refused, repacked, with_manifest
from tests.support.projects import World

__all__ = ["refused"]


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
def test_a_bundle_that_is_cut_off_is_refused(
    bundle: Path, refused: Callable[[bytes], str], cut: float
) -> None:
    data = bundle.read_bytes()
    assert "damaged or cut off" in refused(data[: int(len(data) * cut)])


def test_damage_anywhere_is_refused_or_harmless(
    bundle: Path, world: World, store: Store, tmp_path: Path
) -> None:
    data = bundle.read_bytes()
    path = tmp_path / "damaged"
    before = store.counts()
    refusals = 0
    for position in range(0, len(data), len(data) // 25):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            import_file(path, Destination(world.beta), nothing).cluster.delete()
        except Refused:
            refusals += 1
        assert store.counts() == before
    assert refusals > 15


def test_a_part_that_was_changed_is_refused_by_its_checksum(
    bundle: Path, refused: Callable[[bytes], str]
) -> None:
    def changed(files: dict[str, bytes]) -> None:
        part = bytearray(files["steal.blocks"])
        part[-3] ^= 1
        files["steal.blocks"] = bytes(part)

    reason = refused(repacked(bundle, changed))
    assert "checksum differs" in reason or "refers to" in reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda changed: changed.update(version=2),
            "reads bundles of version 1, and the file is of 2",
        ),
        (lambda changed: changed.update(version=2**70), "version"),
        (lambda changed: changed.update(format="other"), "manifest can't be read: format"),
        (lambda changed: changed["run"].update(start="nan"), "run.start"),
        (
            lambda changed: changed["run"].update(start=changed["run"]["stop"] + 1),
            "stops before its start",
        ),
        (lambda changed: changed["run"].update(name="x" * 201), "run.name"),
        (
            lambda changed: changed["run"].update(tags={"a": "\x00"}),
            "unprintable characters",
        ),
        (
            lambda changed: changed["run"].update(tags={str(n): "x" for n in range(51)}),
            "A run can have at most 50 tags",
        ),
        (
            lambda changed: changed["parts"].update({"../x": changed["parts"]["span"]}),
            "parts that aren't known",
        ),
        (
            lambda changed: changed["parts"].pop("span"),
            "aren't those that the manifest names: 'span.blocks'",
        ),
        (lambda changed: changed["parts"]["span"].update(rows=2**62), "parts.span.rows"),
        (
            lambda changed: changed["parts"]["span"].update(rows=1),
            "other rows than the manifest says",
        ),
        (lambda changed: changed["parts"]["span"].update(rows=2**39), "checksum differs"),
        (lambda changed: changed.pop("cluster"), "cluster: Field required"),
    ],
)
def test_a_manifest_that_lies_is_refused(
    bundle: Path, refused: Callable[[bytes], str], change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    assert reason in refused(with_manifest(bundle, change))


def test_a_missing_table_that_others_refer_to_is_refused(
    bundle: Path, refused: Callable[[bytes], str]
) -> None:
    def without(files: dict[str, bytes]) -> None:
        del files["lane.blocks"]
        manifest = json.loads(files["manifest.json"])
        del manifest["parts"]["lane"]
        files["manifest.json"] = json.dumps(manifest).encode()

    assert "refers to lane" in refused(repacked(bundle, without))


@pytest.mark.parametrize("name", ["../../escaped", "/etc/passwd", "span.blocks/../x", "extra.txt"])
def test_files_that_do_not_belong_are_refused_and_never_written(
    bundle: Path, refused: Callable[[bytes], str], name: str, tmp_path: Path
) -> None:
    before = sorted(tmp_path.parent.rglob("*"))
    reason = refused(repacked(bundle, lambda files: files.update({name: b"x"})))
    assert "aren't those that the manifest names" in reason
    assert sorted(tmp_path.parent.rglob("*")) == sorted({*before, tmp_path / "hostile"})


def test_a_zip_bomb_is_refused_before_it_is_unpacked(bundle: Path, refused: Callable[[bytes], str]) -> None:
    bomb = repacked(bundle, lambda files: files.update({"span.blocks": bytes(200 * 2**20)}))
    assert len(bomb) < 2**20
    assert "would unpack to 2" in refused(bomb)


def test_a_zip_that_lies_about_its_size_is_read_no_further(
    bundle: Path, refused: Callable[[bytes], str]
) -> None:
    bomb = bytearray(repacked(bundle, lambda files: files.update({"span.blocks": bytes(50 * 2**20)})))
    honest = struct.pack("<I", 50 * 2**20)
    assert bomb.count(honest) >= 1
    small = bytes(bomb).replace(honest, struct.pack("<I", 1000))
    assert refused(small)


def test_a_block_of_absurd_length_is_refused(bundle: Path, refused: Callable[[bytes], str]) -> None:
    header = struct.pack("<4sIII", b"DOB1", 2**32 - 8, 2**32 - 8, 0)

    def changed(files: dict[str, bytes]) -> None:
        _put(files, "span", header + bytes(100), 1)

    assert "a block of it has more than 64 MiB" in refused(repacked(bundle, changed))


def test_a_block_that_says_more_rows_than_blocks_have_is_refused(
    bundle: Path, refused: Callable[[bytes], str]
) -> None:
    def changed(files: dict[str, bytes]) -> None:
        rows = 5_000_000
        _put(files, "typename", encode("typename", rows, [number_column("x", "u8", bytes(rows))]), rows)

    assert "other rows than the manifest says" in refused(repacked(bundle, changed))


def test_columns_that_are_missing_or_of_another_type_are_refused(
    bundle: Path, refused: Callable[[bytes], str]
) -> None:
    def changed(files: dict[str, bytes]) -> None:
        columns = [number_column("id", "i32", [1]), Column("name", "f64", array("d", [1.0]))]
        _put(files, "typename", encode("typename", 1, columns), 1)

    assert "typename has no column name of type text" in refused(repacked(bundle, changed))


def test_a_zip_with_a_hundred_thousand_files_is_refused(refused: Callable[[bytes], str]) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(60_000):
            archive.writestr(zipfile.ZipInfo(f"{number:010}"), b"")
    assert "list of files is too long" in refused(packed.getvalue())


def test_a_zip_that_is_no_bundle_is_refused(refused: Callable[[bytes], str]) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "It is a zip, but no bundle" in refused(packed.getvalue())


def test_a_file_over_the_limit_is_refused_unread(
    world: World, store: Store, settings: LazySettings, tmp_path: Path
) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)  # takes no room on the disk
    settings.IMPORT_LIMIT = 2 * 2**30
    before = store.counts()
    with pytest.raises(Refused, match="10,240 MiB: at most 2,048 are imported"):
        import_file(path, Destination(world.beta), nothing)
    assert store.counts() == before


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "It is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "none of the files that are known"),
        (b"hello", "none of the files that are known"),
        (pickle.dumps([{"key": "x"}]), "It is a pickle, which can run any program"),
        (pickle.dumps([1], protocol=2), "It is a pickle"),
        (gzip.compress(pickle.dumps([1]), mtime=0), "It is a pickle"),
        (gzip.compress(b"x" * 10_000, mtime=0)[:30], "damaged or cut off"),
        (b"\x1f\x8b" + bytes(50), "damaged or cut off"),
        (
            gzip.compress(msgpack.packb({"scheduler": {}, "x": "y" * 1000}), mtime=0)[:-20],
            "damaged or cut off",
        ),
        (msgpack.packb({"scheduler": {}})[:-1], "can't be read as msgpack"),
        (msgpack.packb({"a": 1}), "It is no cluster dump"),
        (msgpack.packb({"scheduler": [1]}), "It is no cluster dump"),
        (msgpack.packb({"scheduler": {}}), "has no worker and no task"),
        (msgpack.packb({"scheduler": {"x": msgpack.ExtType(1, b"")}}), "no plain data"),
        (b"\x81\xa1a" + b"\x91" * 100_000, "can't be read as msgpack"),
        (b"\x81\xa1a\xdd\xff\xff\xff\xff", "can't be read as msgpack"),
        (b"\x81\xa1a\xdb\xff\xff\xff\xff", "can't be read as msgpack"),
        (b"\x81\xa1a\x81\x91\x01\x01", "can't be read as msgpack"),
        (b"scheduler: [", "can't be read as YAML"),
        (b"scheduler: 3\n", "It is no cluster dump"),
        (b"scheduler: !!python/object/apply:os.system ['touch /tmp/owned']\n", "names a type"),
        (b"scheduler: {a: &a [1, 2], b: *a}\n", "has an alias"),
        (b"scheduler: " + b"[" * 100_000, "nested deeper than 100"),
        (b"scheduler: {when: 2026-99-99}\n", "can't be read as YAML"),
        (b"scheduler: \xff\xfe\n", "can't be read as YAML"),
        (b"[1, 2", "begins as JSON, but isn't"),
        (b"[" * 1_000_000, "begins as JSON, but isn't"),
        (b"[]", "has no task in it"),
        (b"[1]", "Entry 1 of the list is no task"),
        (b'[{"worker": "a", "key": "b", "startstops": [{"action": "dance"}]}]', "unknown action 'dance'"),
        (
            b'[{"worker": "a", "key": "b", "startstops": [{"action": "compute", "start": NaN, "stop": 1}]}]',
            "Entry 1 of the list goes from 0.0",
        ),
        (b"[\xff]", "begins as JSON, but isn't"),
    ],
)
def test_what_is_no_file_of_ours_or_dasks_is_refused(
    refused: Callable[[bytes], str], data: bytes, reason: str
) -> None:
    assert reason in refused(data)
    assert not Path("/tmp/owned").exists()


def test_gzip_bombs_are_read_no_further_than_the_limit(
    refused: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "LARGEST", 2**20)
    bomb = gzip.compress(b"\x81\xa1a\xdb" + struct.pack(">I", 2**24) + bytes(2**24))
    assert "more than 1 MiB unpacked" in refused(bomb)


def test_a_dump_of_very_many_small_things_is_refused(
    refused: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "MOST_ITEMS", 10_000)
    monkeypatch.setattr(dumps, "MOST_YAML_ITEMS", 10_000)
    assert "more than 10,000 things" in refused(msgpack.packb({"scheduler": {"a": [[]] * 2_000}}))
    assert "more than 10,000 things" in refused(b"scheduler: {a: [" + b"[], " * 2_000 + b"]}\n")


def test_dumps_whose_values_are_of_other_types_are_read_as_far_as_they_go(
    world: World, tmp_path: Path, store: Store
) -> None:
    strange: list[Any] = [None, 3, -1.5, "x\x00\ud7ff", [], [1, 2], {"a": {}}, True, 2**63]
    for number, value in enumerate(strange):
        names = ("tasks", "workers", "events", "transition_log", "logs", "id", "address")
        changed: dict[str, Any] = dict.fromkeys(names, value)
        tasks = {"k": dict.fromkeys(("state", "dependencies", "priority", "retries", "annotations"), value)}
        log = [["k", value, value, value, value, START], [value] * 6, ["k", "a", "memory", {}, "s", START]]
        seen = {
            "tcp://a:1": dict.fromkeys(("nthreads", "memory_limit", "memory", "metrics", "status"), value)
        }
        workers = {
            "tcp://a:1": {"tasks": {"k": {"startstops": [value, {"action": "compute"}]}}, "logs": [value]}
        }
        for index, scheduler in enumerate(
            (
                {**changed, "started": START},
                {"started": START, "tasks": tasks, "transition_log": log, "workers": seen},
            )
        ):
            path = tmp_path / f"{number}-{index}"
            path.write_bytes(msgpack.packb({"scheduler": scheduler, "workers": workers, "versions": value}))
            run = import_file(path, Destination(world.beta), nothing)
            assert run.name.startswith("Dump of")


def test_an_import_that_is_cancelled_leaves_nothing(bundle: Path, world: World, store: Store) -> None:
    before = store.counts()
    steps = iter(range(100))

    def progress(done: float) -> None:
        if next(steps) == len(tables()) - 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        import_file(bundle, Destination(world.beta), progress)
    assert store.counts() == before


def test_a_database_that_breaks_off_leaves_nothing(bundle: Path, world: World, store: Store) -> None:
    """The server ends our connection in the middle of the records."""
    before = store.counts()

    def progress(done: float) -> None:
        store.connection.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND application_name = 'observatory'
                 AND state = 'idle in transaction'"""
        )

    with pytest.raises(psycopg.OperationalError):
        import_file(bundle, Destination(world.beta), progress)
    assert store.counts() == before


def test_zlib_damage_within_a_part_is_refused(bundle: Path, refused: Callable[[bytes], str]) -> None:
    with zipfile.ZipFile(bundle) as archive:
        info = archive.getinfo("span.blocks")
    data = bytearray(bundle.read_bytes())
    middle = info.header_offset + 30 + len("span.blocks") + info.compress_size // 2
    data[middle : middle + 40] = bytes(40)
    assert "damaged" in refused(bytes(data))
