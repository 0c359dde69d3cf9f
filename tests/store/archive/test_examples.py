"""The examples of docs/archive.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from observatory.clusters.models import Cluster
from observatory.store.archive.archiving import archive_cluster
from observatory.store.archive.place import Place

PAGE = Path(__file__).parents[3] / "docs/archive.md"
EXAMPLES = dict(re.findall(r"```python\n# (\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL))
SHOWN = {"pandas": "load", "Dask": "dask_scheduler_tasks_total"}


def test_there_are_examples() -> None:
    assert EXAMPLES.keys() == SHOWN.keys()


@pytest.mark.parametrize("tool", SHOWN)
def test_the_example_works(
    tool: str,
    cluster: Cluster,
    place: Place,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive_cluster(cluster.pk, place)
    monkeypatch.chdir(folder)
    exec(compile(EXAMPLES[tool], f"{PAGE.name}, {tool}", "exec"), {})
    assert SHOWN[tool] in capsys.readouterr().out
