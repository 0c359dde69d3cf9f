"""The memory limit of a container, as Linux' control groups of both versions show it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from observatory.agent.container import container_memory_limit

V1 = "4:memory:{path}\n3:cpuset:/\n1:name=systemd:{path}\n"
GROUPS = "sys/fs/cgroup"


@pytest.mark.parametrize(
    ("of_process", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "4294967296"}, "4294967296"),
        ("0::/\n", {"memory.max": "max"}, ""),
        ("0::/\n", {}, ""),
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": "1000000"}, "1000000"),
        ("0::/a/b\n", {"a/b/memory.max": "5000", "a/memory.max": "1000000"}, "5000"),
        ("0::/../../escapes\n", {"memory.max": "7000"}, "7000"),
        (V1.format(path="/"), {"memory/memory.limit_in_bytes": "9223372036854771712"}, ""),
        (V1.format(path="/"), {"memory/memory.limit_in_bytes": "9223372036854710272"}, ""),  # pages of 64 KiB
        (V1.format(path="/docker/1"), {"memory/memory.limit_in_bytes": "2147483648"}, "2147483648"),
        (
            V1.format(path="/job"),
            {
                "memory/job/memory.limit_in_bytes": "3000000",
                "memory/memory.limit_in_bytes": "9223372036854771712",
            },
            "3000000",
        ),
        ("nonsense\n", {"memory.max": "1"}, ""),
        ("", {}, ""),
    ],
)
def test_the_least_limit_counts_and_no_limit_is_no_number(
    tmp_path: Path, of_process: str, files: Mapping[str, str], limit: str
) -> None:
    for name, text in {
        "proc/self/cgroup": of_process,
        **{f"{GROUPS}/{file}": t for file, t in files.items()},
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert container_memory_limit(tmp_path) == limit
