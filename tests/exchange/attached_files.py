"""Files of py-spy 0.4 and viztracer 1.1 in `profiles/`, attached to runs, and what is answered of them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg

from observatory.exchange.attachments.answer import attached_profiles
from observatory.exchange.attachments.attach import Placement, attach
from observatory.exchange.attachments.schemas import AttachedProfiles
from observatory.runs.models import Attachment, Run
from observatory.runs.sharing.scopes import scope_of_run
from tests.exchange.hostile import nothing
from tests.support.response_schemas import assert_documented

FILES = Path(__file__).with_name("profiles")
SPEEDSCOPE, CHROME = FILES / "py-spy-speedscope.json.gz", FILES / "py-spy-chrometrace.json.gz"
VIZTRACER, VIZTRACER_COMMAND = FILES / "viztracer.json.gz", FILES / "viztracer-command.json.gz"
ALL = [SPEEDSCOPE, CHROME, VIZTRACER, VIZTRACER_COMMAND]


def content_of(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def attached(path: Path, run: Run, placement: Placement = Placement()) -> Attachment:  # noqa: B008
    return attach(path, path.name, run, placement, None, nothing)


def answered(connection: psycopg.Connection, run: Run, after: float = 0, before: float = 4e9) -> Any:
    run.refresh_from_db()
    found = attached_profiles(connection, scope_of_run(run), round(after * 1e6), round(before * 1e6))
    assert_documented(AttachedProfiles, json.loads(json.dumps(found)))
    return found


def own_seconds(found: Any) -> dict[str, float]:
    """How long each function ran itself, by its name."""
    sums: Counter[str] = Counter()
    for stack in found["stacks"]:
        innermost = stack["stack"].split("\n")[-1].split("\t")[0]
        sums[innermost] += sum(spent for *_, spent in stack["microseconds"]) / 1e6
    return dict(sums)


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path
