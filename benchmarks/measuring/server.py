"""An installation of its own for a benchmark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.observatory import Observatory

FIND_RUNS = "from observatory.runs.tasks import find_runs; find_runs()"


@contextmanager
def new_observatory() -> Iterator[tuple[Observatory, str]]:
    """Start an Observatory in a new folder, which is deleted afterwards; yields it and an ingest token."""
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    folder.chmod(0o711)  # under root its processes are another user's
    server = Observatory(folder / "data")
    try:
        server.start()
        yield server, server.manage("ingest_token", "default").strip()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def evaluated(server: Observatory, code: str) -> str:
    """The last line that code prints in the server's `manage.py shell`, once all runs were found."""
    server.manage("shell", "-v", "0", "-c", FIND_RUNS)
    return server.manage("shell", "-v", "0", "-c", code).splitlines()[-1]
