"""The thresholds of a worker's memory, as its configuration tells them."""

from __future__ import annotations

from typing import Any

import dask
import pytest

from observatory.agent.environment import describe
from observatory.store.workers.thresholds import DEFAULTS, thresholds_of

MEMORY = "distributed.worker.memory."


def test_thresholds_are_those_of_the_workers_configuration() -> None:
    own = {"target": 0.5, "spill": False, "pause": 0.9, "terminate": 1.0}
    with dask.config.set({f"{MEMORY}{name}": value for name, value in own.items()}):
        assert thresholds_of(describe("worker")) == own | {"spill": 0.0}
    assert thresholds_of(describe("worker")) == DEFAULTS


@pytest.mark.parametrize("value", [None, True, "0.5", -0.1, 1.5, float("nan"), float("inf"), [0.5], {}])
def test_what_is_no_share_is_not_known(value: Any) -> None:
    known = {f"{MEMORY}{name}": share for name, share in DEFAULTS.items()}
    assert thresholds_of({"configuration": known | {f"{MEMORY}pause": value}}) is None


@pytest.mark.parametrize("detail", [None, [], "a", {}, {"configuration": []}, {"configuration": {}}])
def test_without_a_configuration_they_are_not_known(detail: Any) -> None:
    assert thresholds_of(detail) is None
