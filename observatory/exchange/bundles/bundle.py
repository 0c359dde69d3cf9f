"""A bundle: a run in one file that another Observatory can import. A zip of blocks and a manifest.

`<table>.blocks` has the rows of one table (`extract_tables.py`) as concatenated blocks, the encoding of
sockets and tiles. It is written and read one block at a time, whatever the size of the run.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from observatory.exchange.bundles.attached_files import facts_of, read_stacks, write_stacks
from observatory.exchange.bundles.manifest import (
    AttachmentFacts,
    ClusterFacts,
    Manifest,
    NoteFacts,
    RunFacts,
    TableFile,
    read_manifest,
)
from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.refusal import Refused
from observatory.runs.models import Attachment
from observatory.store.blocks.block_size import json_containers, stored_characters
from observatory.store.schema.dimensions import Table
from observatory.store.transfer.extracts import MOST_ROWS, Extract
from observatory.wire.blocks import PREFIX, Block, BlockError, decode, encode
from observatory.wire.columns import ColumnType

if TYPE_CHECKING:  # the formats import this module
    from observatory.exchange.formats.base import Progress

MANIFEST = "manifest.json"
SUFFIX = ".blocks"
LEVEL = 6
LONGEST_MANIFEST = 32 * 2**20
LONGEST_BLOCK = 64 * 2**20
MOST_UNPACKED = 64 * 2**30
PIECE_BYTES = 1 << 20
MOST_BLOCKS = 3
"""of an attached file"""
JSON = (ColumnType.OBJECT, ColumnType.JSON)
UNREADABLE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
"""errors of zipfile on broken, encrypted and unsupported files"""


def write_bundle(
    extract: Extract,
    run: RunFacts,
    cluster: ClusterFacts,
    notes: list[NoteFacts],
    attachments: list[Attachment],
    file: IO[bytes],
    progress: Progress,
) -> None:
    """Writes the tables of the extract and the attached files, then the manifest with their checksums."""
    tables = extract.tables()
    parts: dict[str, TableFile] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for index, table in enumerate(tables):
            parts[table.name] = _write_part(extract, table, archive, _share(progress, index, len(tables)))
        attached = [_write_attached(one, number, archive) for number, one in enumerate(attachments, 1)]
        manifest = Manifest(run=run, cluster=cluster, notes=notes, attachments=attached, parts=parts)
        archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))


def _write_attached(attachment: Attachment, number: int, archive: zipfile.ZipFile) -> AttachmentFacts:
    written = io.BytesIO()
    write_stacks(attachment, written)
    archive.writestr(_attached_name(number), written.getbuffer())
    facts = facts_of(attachment)
    facts.sha256 = hashlib.sha256(written.getbuffer()).hexdigest()
    return facts


def _attached_name(number: int) -> str:
    return f"attached-{number}{SUFFIX}"


def _share(progress: Progress, index: int, of: int) -> Progress:
    """Reports the progress of one step of `of` as the progress of all."""
    return lambda done: progress((index + done) / of)


def _write_part(extract: Extract, table: Table, archive: zipfile.ZipFile, progress: Progress) -> TableFile:
    digest, length, rows = hashlib.sha256(), 0, 0
    with archive.open(table.name + SUFFIX, "w", force_zip64=True) as part:
        for block in extract.read(table):
            data = encode(block.kind, block.rows, list(block.columns.values()))
            digest.update(data)
            part.write(data)
            length += len(data)
            rows += block.rows
            progress(_how_far(extract, table, block))
    progress(1.0)
    return TableFile(rows=rows, bytes=length, sha256=digest.hexdigest())


def _how_far(extract: Extract, table: Table, block: Block) -> float:
    """The share of the table that has been read after a block; rows are in order of time."""
    if not table.time:
        return 0.5
    newest: float = block.list(table.time)[-1]
    start, stop = extract.start.timestamp(), extract.stop.timestamp()
    return min(max((newest - start) / (stop - start), 0.0), 1.0)


class Bundle:
    """Reads a bundle; use it in a `with`. Raises Refused for an invalid file."""

    def __init__(self, path: Path) -> None:
        self._file = _LimitedReader(path.open("rb", buffering=0))
        try:
            self._archive = zipfile.ZipFile(self._file)
            self._size = path.stat().st_size
            self._allowance = Allowance(self._size)
            self._check()
            with self._archive.open(MANIFEST) as member:
                text = member.read(LONGEST_MANIFEST + 1)
            if len(text) > LONGEST_MANIFEST:
                raise Refused(f"The bundle's manifest has more than {LONGEST_MANIFEST >> 20} MiB.")
            self.manifest: Manifest = read_manifest(text)
            self._check_parts()
        except (*UNREADABLE, ValueError, OSError) as error:
            self._file.close()
            raise error if isinstance(error, Refused) else _unreadable(error) from None

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()
        self._file.close()

    @property
    def digest(self) -> str:
        """A hash of the records, independent of their compression."""
        parts = sorted((name, part.sha256) for name, part in self.manifest.parts.items())
        values = [*parts, self.manifest.cluster.scheduler_id, self.manifest.run.start, self.manifest.run.stop]
        return hashlib.sha256(repr(values).encode()).hexdigest()

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.manifest.parts.values())

    def read(self, table: Table) -> Iterator[Block]:
        """The table's blocks. Raises Refused; a wrong checksum is found at the end."""
        part = self.manifest.parts.get(table.name)
        if part is None:
            return
        digest, rows = hashlib.sha256(), 0
        try:
            with self._archive.open(table.name + SUFFIX) as member:
                while data := _next_block(member):
                    digest.update(data)
                    (block,) = decode(data, may_share=False)
                    rows += block.rows
                    if block.kind != table.name or block.rows > MOST_ROWS or rows > part.rows:
                        raise Refused(f"{table.name}{SUFFIX} holds other rows than the manifest says.")
                    self._take(table, block)
                    yield block
        except BlockError as error:
            raise Refused(f"{table.name}{SUFFIX}: {error}.") from None
        except (*UNREADABLE, OSError) as error:
            raise _unreadable(error) from None
        if rows != part.rows or digest.hexdigest() != part.sha256:
            raise Refused(f"{table.name}{SUFFIX} isn't what was written: its checksum differs.")

    def stacks(self, number: int) -> bytes:
        """The stacks of an attached file, counted from 1, as they are stored. Raises Refused."""
        facts, name = self.manifest.attachments[number - 1], _attached_name(number)
        digest, blocks = hashlib.sha256(), []
        try:
            with self._archive.open(name) as member:
                while data := _next_block(member):
                    digest.update(data)
                    (block,) = decode(data, may_share=False)
                    self._allowance.take("rows", block.rows)
                    self._allowance.take("characters", stored_characters(block))
                    blocks.append(block)
                    if len(blocks) > MOST_BLOCKS:
                        raise Refused(f"{name} has too many blocks.")
            found = read_stacks(blocks, facts)
        except KeyError as error:
            raise Refused(f"{name} has no column {error}.") from None
        except BlockError as error:
            raise Refused(f"{name}: {error}.") from None
        except (*UNREADABLE, OSError) as error:
            raise _unreadable(error) from None
        if digest.hexdigest() != facts.sha256:
            raise Refused(f"{name} isn't what was written: its checksum differs.")
        return found

    def _take(self, table: Table, block: Block) -> None:
        """Counts what storing the block costs: a short file can repeat a long text in each row."""
        self._allowance.take("rows", block.rows)
        self._allowance.take("characters", stored_characters(block))
        names = [column.name for column in table.columns if column.type in JSON]
        self._allowance.take("containers", json_containers(block, names))

    def _check(self) -> None:
        names = self._archive.namelist()
        if len(set(names)) < len(names) or MANIFEST not in names:
            raise Refused(f"It is a zip, but no bundle: it needs one {MANIFEST}.")
        unpacked = sum(info.file_size for info in self._archive.infolist())
        if unpacked > min(MOST_UNPACKED, self._allowance.unpacked):
            raise Refused(
                f"It would unpack to {unpacked / 2**20:,.0f} MiB out of {self._size / 2**20:,.1f}: "
                "that is no run."
            )

    def _check_parts(self) -> None:
        attached = range(1, len(self.manifest.attachments) + 1)
        expected = {
            MANIFEST,
            *(name + SUFFIX for name in self.manifest.parts),
            *map(_attached_name, attached),
        }
        if set(self._archive.namelist()) != expected:
            different = sorted(set(self._archive.namelist()) ^ expected)
            raise Refused(f"Its files aren't those that the manifest names: {', '.join(different)[:200]!r}.")


class _LimitedReader(io.BufferedReader):
    """Limits single reads: zipfile reads a zip's list of files at once, whatever its length."""

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = 2 * PIECE_BYTES + 1 if size is None or size < 0 else size
        data = super().read(min(wanted, 2 * PIECE_BYTES + 1))
        if len(data) > 2 * PIECE_BYTES:
            raise Refused("Its list of files is too long for a bundle.")
        return data


def _next_block(member: IO[bytes]) -> bytes:
    """The bytes of the next block; b"" at the end."""
    start = _exactly(member, PREFIX.size)
    if not start:
        return b""
    if len(start) < PREFIX.size:
        raise BlockError("it ends within a block")
    _, header, columns, _ = PREFIX.unpack(start)
    if header + columns > LONGEST_BLOCK:
        raise BlockError(f"a block of it has more than {LONGEST_BLOCK >> 20} MiB")
    rest = _exactly(member, header + columns)
    if len(rest) < header + columns:
        raise BlockError("it ends within a block")
    return start + rest


def _exactly(member: IO[bytes], length: int) -> bytes:
    """`length` bytes, or those that are left."""
    data = bytearray()
    while len(data) < length and (piece := member.read(min(length - len(data), PIECE_BYTES))):
        data += piece
    return bytes(data)


def _unreadable(error: Exception) -> Refused:
    return Refused(f"The file is damaged or cut off: {str(error)[:200] or type(error).__name__}.")
