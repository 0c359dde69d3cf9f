"""A healthy run has no finding, whatever its shape."""

from __future__ import annotations

import pytest

from tests.why.findings.simulated import Simulated, Task, futures, map_reduce, tree

pytestmark = pytest.mark.django_db(transaction=True)

SHAPES: dict[str, list[Task]] = {
    "array": map_reduce(),
    "equal futures": futures(),
    "tree": [*futures(128, 0.3, "load"), *tree([f"load-{place}" for place in range(128)], 0.3)],
    "many short ones": futures(600, 0.1),
    "long ones": futures(16, 20),
    "rounds": [
        Task(
            f"train-{step}x{place}",
            1,
            tuple(f"train-{step - 1}x{other}" for other in range(8)) if step else (),
        )
        for step in range(6)
        for place in range(8)
    ],
    "longest first": [Task(f"month-{place}", 6 - 0.2 * place) for place in range(28)],
    "varied": [Task(f"read-{place}", 0.4 + 0.05 * (place * 37 % 17)) for place in range(160)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_healthy_run_has_no_finding(shape: str) -> None:
    assert [found["sentence"] for found in Simulated(SHAPES[shape]).findings()] == []
