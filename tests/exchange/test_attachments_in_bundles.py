"""Attached profiles and traces travel in bundles: what another Observatory shows of them is the same."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.exchange.formats import FORMATS
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import Refused
from observatory.replay.scope import Section
from observatory.runs.models import Attachment, Permalink, Run
from observatory.runs.sharing.scopes import scope_of_link, scope_of_run
from observatory.wire.blocks import Column, decode, encode, number_column, text_column
from tests.exchange.hostile import nothing
from tests.exchange.test_attachments import (
    ALL,
    CHROME,
    SPEEDSCOPE,
    answered,
    attached,
    of_worker,
)
from tests.support.projects import World

__all__ = ["of_worker"]

STACKS = "attached-1.blocks"
Blocks = dict[str, dict[str, Any]]
"""the columns by kind"""


def exported(scope: Any, path: Path) -> Path:
    with path.open("wb") as file:
        FORMATS["bundle"].write(scope, "a run", file, nothing)
    return path


def names_of(connection: psycopg.Connection, run: Run) -> dict[int, str]:
    query = "SELECT id, name FROM worker WHERE cluster_id = %s"
    return dict(connection.execute(query, [run.cluster_id]).fetchall())


def shown(connection: psycopg.Connection, run: Run) -> Any:
    """What the timeline has, with workers by name."""
    found, names = answered(connection, run), names_of(connection, run)
    for file in found["files"]:
        del file["id"]
        for thread in file["threads"]:
            thread["worker"] = names.get(thread["worker"])
    return found


def test_all_that_is_shown_of_the_files_is_the_same_after_an_import(
    run: Run, connection: psycopg.Connection, world: World, tmp_path: Path, of_worker: Path
) -> None:
    for path in (*ALL, of_worker):
        attached(path, run)
    before = shown(connection, run)
    path = exported(scope_of_run(run), tmp_path / "run.zip")
    imported = import_file(path, Destination(world.beta), nothing)
    imported.refresh_from_db()
    assert imported.attached_files == 5
    after = shown(connection, imported)
    assert after == before
    assert "w0" in {thread["worker"] for file in after["files"] for thread in file["threads"]}
    kept = ("name", "format", "digest", "start", "seconds", "is_dated", "remarks")
    assert list(imported.attachments.values(*kept)) == list(run.attachments.values(*kept))
    again = exported(scope_of_run(imported), tmp_path / "again.zip")
    with zipfile.ZipFile(path) as first, zipfile.ZipFile(again) as second:
        assert first.read(STACKS) == second.read(STACKS)


def test_a_public_link_that_hides_code_or_addresses_has_none(
    run: Run, connection: psycopg.Connection, tmp_path: Path
) -> None:
    attached(CHROME, run)
    link = Permalink.objects.create(run=run, created_by=None, shows_code=True, hides_addresses=False)
    for changes, count in (({}, 1), ({"shows_code": False}, 0), ({"hides_addresses": True}, 0)):
        for name, value in {"shows_code": True, "hides_addresses": False, **changes}.items():
            setattr(link, name, value)
        scope = scope_of_link(link)
        assert (Section.CODE in scope.sections) == link.shows_code
        with zipfile.ZipFile(exported(scope, tmp_path / "run.zip")) as archive:
            assert len(json.loads(archive.read("manifest.json"))["attachments"]) == count
            assert (STACKS in archive.namelist()) == bool(count)


def changed(
    path: Path, folder: Path, change: Callable[[Blocks, dict[str, Any]], None], sums: bool = True
) -> Path:
    """The bundle with other stacks or facts of its first attached file."""
    made = folder / "changed.zip"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as written:
        manifest = json.loads(archive.read("manifest.json"))
        blocks = {block.kind: block for block in decode(archive.read(STACKS), may_share=False)}
        values: Blocks = {
            kind: {name: block.list(name) for name in block.columns} for kind, block in blocks.items()
        }
        values["stack"]["bins"] = blocks["stack"].meta["bins"]
        change(values, manifest["attachments"][0])
        data = b"".join(_block(kind, columns) for kind, columns in values.items())
        if sums:
            manifest["attachments"][0]["sha256"] = hashlib.sha256(data).hexdigest()
        for name in archive.namelist():
            if name not in (STACKS, "manifest.json"):
                written.writestr(name, archive.read(name))
        written.writestr(STACKS, data)
        written.writestr("manifest.json", json.dumps(manifest))
    return made


def _block(kind: str, values: dict[str, Any]) -> bytes:
    meta = {"bins": values.pop("bins")} if "bins" in values else {}
    columns: list[Column] = []
    for name, each in values.items():
        if name == "line":
            columns.append(text_column(name, each))
        else:
            columns.append(number_column(name, "i64" if name == "nanoseconds" else "u32", each))
    return encode(kind, len(columns[0].data) if columns else 0, columns, meta)


def first(values: list[Any], value: Any) -> None:
    values[0] = value


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda blocks, facts: first(blocks["stack"]["thread"], 10), "refers to what it hasn't"),
        (lambda blocks, facts: first(blocks["stack"]["bin"], 4000), "refers to what it hasn't"),
        (lambda blocks, facts: first(blocks["stack"]["node"], 2**31), "refers to what it hasn't"),
        (lambda blocks, facts: first(blocks["stack"]["node"], 0), "refers to what it hasn't"),
        (lambda blocks, facts: first(blocks["stack"]["nanoseconds"], -1), "refers to what it hasn't"),
        (lambda blocks, facts: first(blocks["stack"]["nanoseconds"], 2**62), "refers to what it hasn't"),
        (lambda blocks, facts: blocks["stack"].update(bins=0), "number of its rows or bins"),
        (lambda blocks, facts: blocks["stack"].update(bins="many"), "number of its rows or bins"),
        (lambda blocks, facts: blocks["node"]["parent"].__setitem__(1, 7), "no tree"),
        (lambda blocks, facts: blocks["node"]["frame"].__setitem__(1, 7000), "a frame that it hasn't"),
        (lambda blocks, facts: blocks["node"].pop("frame"), "no column 'frame'"),
        (lambda blocks, facts: blocks.pop("node"), "other blocks than those of stacks"),
        (lambda blocks, facts: blocks.update(more={"frame": [1]}), "too many blocks"),
        (lambda blocks, facts: facts.update(seconds=-1), "attachments.0.seconds"),
        (lambda blocks, facts: facts.update(format="pickle"), "attachments.0.format"),
        (lambda blocks, facts: facts.update(threads=[{}] * 201), "attachments.0.threads"),
    ],
)
def test_a_changed_file_is_refused_with_the_reason_and_nothing_is_stored(
    run: Run, connection: psycopg.Connection, world: World, tmp_path: Path, change: Any, said: str
) -> None:
    attached(CHROME, run)
    path = changed(exported(scope_of_run(run), tmp_path / "run.zip"), tmp_path, change)
    before = (Cluster.objects.count(), Run.objects.count(), Attachment.objects.count())
    with pytest.raises(Refused) as refusal:
        import_file(path, Destination(world.beta), nothing)
    assert said in str(refusal.value)
    assert (Cluster.objects.count(), Run.objects.count(), Attachment.objects.count()) == before
    assert connection.execute("SELECT count(DISTINCT cluster_id) FROM extent").fetchone() == (1,)


def test_a_wrong_checksum_and_a_file_that_is_there_twice_are_refused(
    run: Run, connection: psycopg.Connection, world: World, tmp_path: Path
) -> None:
    attached(CHROME, run)
    attached(SPEEDSCOPE, run)
    path = exported(scope_of_run(run), tmp_path / "run.zip")

    def other(blocks: Blocks, facts: dict[str, Any]) -> None:
        blocks["stack"]["nanoseconds"][0] += 1

    with pytest.raises(Refused, match="its checksum differs"):
        import_file(changed(path, tmp_path, other, sums=False), Destination(world.beta), nothing)
    digests = [each.digest for each in run.attachments.all()]

    def twice(blocks: Blocks, facts: dict[str, Any]) -> None:
        facts["digest"] = next(digest for digest in digests if digest != facts["digest"])

    with pytest.raises(Refused, match="an attached file twice"):
        import_file(changed(path, tmp_path, twice), Destination(world.beta), nothing)


def test_hostile_names_are_cleaned_and_a_deep_stack_is_cut(
    run: Run, connection: psycopg.Connection, world: World, tmp_path: Path
) -> None:
    attached(CHROME, run)
    path = exported(scope_of_run(run), tmp_path / "run.zip")

    def hostile(blocks: Blocks, facts: dict[str, Any]) -> None:
        facts.update(name="a\x00b\u202e.json", remarks="see\x00here")
        facts["threads"][0].update(name="x\x00y", worker=999)
        blocks["frame"]["line"][1] = "evil\x00\nname\tfile\u202e\tnine"
        last = len(blocks["node"]["parent"])
        for number in range(last, last + 3000):  # a chain far deeper than a stack may be
            blocks["node"]["parent"].append(number - 1)
            blocks["node"]["frame"].append(1)
        blocks["stack"]["node"][0] = last + 2999

    imported = import_file(changed(path, tmp_path, hostile), Destination(world.beta), nothing)
    [made] = imported.attachments.all()
    assert "\x00" not in made.name + made.remarks + json.dumps(made.threads)
    assert made.threads[0]["worker"] is None
    text = json.dumps(answered(connection, imported))
    assert "\\u0000" not in text
    assert "\\u202e" not in text
    assert max(each["stack"].count("\n") for each in answered(connection, imported)["stacks"]) < 500
