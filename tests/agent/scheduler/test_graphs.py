"""The code of computations."""

from __future__ import annotations

from types import SimpleNamespace

from observatory.agent.scheduler.graphs import _code


def test_graphs_of_one_function_have_its_source_once() -> None:
    frames = [
        (SimpleNamespace(code="def load(): ...", lineno_frame=line, filename="etl.py"),) for line in (2, 3)
    ]
    other = (SimpleNamespace(code="load()", lineno_frame=1, filename=""),)
    assert _code(SimpleNamespace(code=[*frames, other])) == "# etl.py\ndef load(): ...\n\nload()"
