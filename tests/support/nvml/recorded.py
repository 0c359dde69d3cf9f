"""GPUs with what NVML has said of them, and a machine of some for the module pynvml beside this one.

Sources: the A100 in MIG mode is of XuehaiPan/nvitop#5 (driver 470, bytes of its memory) and nvidia-smi -L of
hashicorp/nomad-device-nvidia#53 (names of parts), the refusal of utilization in MIG mode of
dask/distributed#8739, the refusal of power of nicolargo/glances#1523, the lost GPU of rossumai/nvgpu#6.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
"""to be put on the path of workers, as the place of pynvml"""
MIB, GIB = 2**20, 2**30


def h100(number: int = 0, **changed: Any) -> dict[str, Any]:
    return {
        "uuid": f"GPU-3c6b1c4e-8a51-42f7-bd0e-9d6a1f7e2c0{number}",
        "name": "NVIDIA H100 80GB HBM3",
        "total": 81_559 * MIB,
        "reserved": 559 * MIB,
        "used": 40_000 * MIB,
        "utilization": 93,
        "memory_utilization": 41,
        "power": 512_345,
        "power_limit": 700_000,
        "temperature": 61,
        "parts": None,
        **changed,
    }


def a100_in_parts(**changed: Any) -> dict[str, Any]:
    """In MIG mode, with two instances in its seven places. Whole, it has no utilization."""
    return {
        "uuid": "GPU-6109dd5c-d378-24ee-f344-79b537574ea6",
        "name": "NVIDIA A100-SXM4-40GB",
        "total": 42_505_273_344,
        "used": 14_987_362_304,
        "power": 87_000,
        "power_limit": 400_000,
        "temperature": 33,
        "parts": [
            {
                "uuid": "MIG-8c4c5a27-e508-5556-b2ea-7e549465741e",
                "name": "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
                "instance": [7, 0],
                "total": 4_864 * MIB,
                "used": 1_000 * MIB,
            },
            None,
            {
                "uuid": "MIG-1d89abd8-d10a-5361-bd06-77a807048472",
                "name": "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
                "instance": [8, 0],
                "total": 4_864 * MIB,
                "used": 12 * MIB,
            },
            *[None] * 4,
        ],
        **changed,
    }


def t4(**changed: Any) -> dict[str, Any]:
    """Of a virtual machine that may not read power and its limit; a T4 has no MIG."""
    return {
        "uuid": "GPU-67ad81fc-b9e4-fd02-6e39-ac30327586d3",
        "name": "Tesla T4",
        "total": 15_360 * MIB,
        "reserved": 449 * MIB,
        "used": 8_192 * MIB,
        "utilization": 37,
        "memory_utilization": 12,
        "power": None,
        "power_limit": None,
        "temperature": 48,
        **changed,
    }


@dataclass
class Machine:
    """The file that the module reads."""

    path: Path

    def has(self, *gpus: dict[str, Any], **more: Any) -> None:
        written = self.path.with_suffix(".new")
        written.write_text(json.dumps({"gpus": gpus, **more}))
        written.replace(self.path)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that has the GPUs."""
        return {"FAKE_NVML": str(self.path), "PYTHONPATH": str(FOLDER)}
