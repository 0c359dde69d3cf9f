"""The recording of the questions in a complete Observatory, when its cluster is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.browser.conftest import made_observatory
from tests.browser.observatory import Observatory
from tests.browser.questions import recording
from tests.browser.questions.recording import Known

COUNT = "from observatory.runs.tasks import count_usage, find_runs; find_runs(); count_usage()"


@dataclass(frozen=True)
class Recorded:
    observatory: Observatory
    known: Known
    run: str
    """the address of its page"""


@contextmanager
def record(data: Path, cluster: Path) -> Iterator[Recorded]:
    """`data` and `cluster` are empty folders."""
    with made_observatory(data) as observatory:
        observatory.start()
        token = observatory.manage("ingest_token", "default").strip()
        known = recording.record(observatory, token, cluster)
        observatory.manage("shell", "--command", COUNT)
        price = f"thread_hour_price = {recording.PRICE}, currency = 'EUR'"
        assert observatory.rows(f"UPDATE clusters_project SET {price} RETURNING id")
        newest = f"SELECT id FROM runs_run WHERE name = '{recording.NAME}' ORDER BY start DESC LIMIT 1"
        yield Recorded(observatory, known, f"{observatory.url}/runs/{observatory.query(newest)}/")
