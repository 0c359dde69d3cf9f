"""NVML of GPUs that a file describes, in the test's own process."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.support.nvml.recorded import FOLDER, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine.json")


@pytest.fixture
def nvml(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module pynvml, as if Dask had imported it in this process."""
    monkeypatch.setenv("FAKE_NVML", str(machine.path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    spec = importlib.util.spec_from_file_location("pynvml", FOLDER / "pynvml.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr("distributed.diagnostics.nvml.pynvml", module)
    return module
