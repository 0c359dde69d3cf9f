"""Reading a hostile file costs at most 50 times the CPU time of an honest one of its size."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import random
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgpack
import pytest

from observatory.exchange.bundles.bundle import Bundle
from observatory.exchange.bundles.manifest import ClusterFacts, Manifest, RunFacts, TableFile
from observatory.exchange.imports.import_file import ZIP, _reader_of
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.imports.unpacking import head_of
from observatory.store.transfer.extract_tables import tables
from observatory.wire.blocks import Column, encode, number_column

START = 1_780_000_000.0
FACTOR = 50
FLOOR = 0.05
"""seconds: what an import costs beside its file (the job, the cluster, a transaction)"""


def bundle_of(parts: Mapping[str, tuple[int, bytes]]) -> bytes:
    """A bundle with these (rows, blocks) by table; its manifest is right."""
    manifest = Manifest(
        run=RunFacts(name="run", start=START, stop=START + 60),
        cluster=ClusterFacts(name="cluster", scheduler_id="s", started=START),
        parts={
            name: TableFile(rows=rows, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
            for name, (rows, data) in parts.items()
        },
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (_, data) in parts.items():
            archive.writestr(f"{name}.blocks", data)
        archive.writestr("manifest.json", manifest.model_dump_json())
    return packed.getvalue()


def samples(rows: int) -> tuple[int, bytes]:
    columns = [
        number_column("time", "f64", [START] * rows),
        number_column("value", "f64", [0.0] * rows),
        number_column("series_id", "i32", [1] * rows),
    ]
    return rows, encode("sample", rows, columns)


def events(rows: int, details: list[str]) -> tuple[int, bytes]:
    detail = Column("detail", "text", bytes(4 * rows), details)
    return rows, encode("event", rows, [number_column("time", "f64", [START] * rows), detail])


def yaml_dump(text: bytes) -> bytes:
    return b"scheduler:\n  a: " + text + b"\n"


def dump(**scheduler: Any) -> bytes:
    return bytes(msgpack.packb({"scheduler": {"started": START, **scheduler}}))


def span(times: int) -> bytes:
    part = b'["compute", 1780000000.0, 1780000001.0],'
    return b'[{"worker": "w", "key": "k", "startstops": [' + part * times + b"1]}]"


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a bundle of equal samples": lambda: bundle_of({"sample": samples(300_000)}),
    "a bundle with a long text in each row": lambda: bundle_of(
        {"event": events(100_000, ['{"a":"' + "x" * 90_000 + '"}'])}
    ),
    "a bundle with lists in details": lambda: bundle_of(
        {"event": events(1, [f'{{"a":[{"[]," * 1_000_000}0]}}'])}
    ),
    "a bundle with numbers in a header": lambda: bundle_of(
        {"event": (0, encode("event", 0, [], {"a": [1] * 10_000_000}))}
    ),
    "a bundle with lists in a header": lambda: bundle_of(
        {"event": (0, encode("event", 0, [], {"a": [[]] * 1_000_000}))}
    ),
    "msgpack of empty lists": lambda: dump(a=[[]] * 2_000_000),
    "msgpack of numbers": lambda: dump(a=[1] * 5_000_000),
    "msgpack with a dependency in each byte": lambda: dump(
        tasks={"k": {"dependencies": [1] * 3_000_000, "state": "memory"}}
    ),
    "msgpack with a long topic of many events": lambda: dump(events={"x" * 4_000_000: [[START, 1]] * 20_000}),
    "msgpack with many lines of logs": lambda: bytes(
        msgpack.packb(
            {
                "scheduler": {
                    "started": START,
                    "logs": [["INFO", "2026-05-28 20:26:40,000 - a - INFO - b"]] * 200_000,
                }
            }
        )
    ),
    "YAML of numbers": lambda: yaml_dump(b"[" + b"1," * 1_000_000 + b"1]"),
    "YAML of empty lists": lambda: yaml_dump(b"[" + b"[]," * 1_000_000 + b"1]"),
    "YAML of one sexagesimal number": lambda: yaml_dump(b"1" + b":1" * 400_000),
    "YAML of keys with equal hashes": lambda: yaml_dump(
        b"{" + b",".join(b"%d: 1" % (number * (2**61 - 1)) for number in range(1_000, 31_000)) + b"}"
    ),
    "YAML with directives of another document": lambda: (
        yaml_dump(b"1")
        + b"...\n"
        + b"".join(b"%%TAG !%x! a\n" % number for number in range(100_000))
        + b"---\n"
    ),
    "JSON of empty lists": lambda: b"[" + b"[]," * 2_000_000 + b"1]",
    "JSON of spans": lambda: span(100_000),
}


def honest(size: int) -> bytes:
    """A packed cluster dump of about `size` bytes."""
    chance = random.Random(1)
    log = [
        [
            f"inc-{chance.getrandbits(64):016x}",
            "waiting",
            "processing",
            {},
            "update-graph-1",
            START + number / 1000,
        ]
        for number in range(max(1, size // 25))
    ]
    return gzip.compress(dump(transition_log=log), 1)


def read(path: Path) -> None:
    """Reads the file up to where its records would be stored. Raises Refused."""
    head = head_of(path)
    if not head.startswith(ZIP):
        _reader_of(head)(path)
        return
    with Bundle(path) as bundle:
        for table in tables():
            for _ in bundle.read(table):
                pass


def cost(path: Path) -> float:
    """Seconds of CPU time until the file is refused, or is ready to be stored."""
    start = time.thread_time()
    with contextlib.suppress(Refused):
        read(path)
    return time.thread_time() - start


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_hostile_file_costs_little(name: str, tmp_path: Path) -> None:
    data = HOSTILE[name]()
    packed = data if data.startswith(ZIP) else gzip.compress(data, 9)
    hostile, same_size = tmp_path / "hostile", tmp_path / "honest"
    hostile.write_bytes(packed)
    same_size.write_bytes(honest(len(packed)))
    assert cost(hostile) < FACTOR * (FLOOR + min(cost(same_size) for _ in range(3)))
