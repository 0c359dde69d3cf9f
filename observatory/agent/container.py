"""The memory limit of the container that a process runs in, by the control groups of Linux."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
NO_LIMIT = 2**60
"""bytes; version 1 shows no limit as the largest number of pages, which is about 2**63"""


def container_memory_limit(root: Path = ROOT) -> str:
    """The least limit of the process's control groups in bytes; "" without one."""
    limits = [int(text) for path in _files(root) if (text := _read(path)).isdecimal()]
    return str(min(limits)) if limits and min(limits) < NO_LIMIT else ""


def _files(root: Path) -> Iterator[Path]:
    """The files with the limit of each control group of the process: its own one, and those around it."""
    groups = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            yield from _upwards(groups, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _upwards(groups / "memory", path, "memory.limit_in_bytes")


def _upwards(top: Path, path: str, name: str) -> Iterator[Path]:
    # a container sees its own group at the top; its path on the host may not exist in it
    group = top / path.lstrip("/")
    yield from (folder / name for folder in (group, *group.parents) if folder.is_relative_to(top))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
