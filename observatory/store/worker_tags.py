"""The tags of a worker: what it tells of itself that workers can be grouped by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONGEST = 100
"""characters of a value"""
MOST = 20


def tags_of(resources: Any, detail: Any) -> dict[str, str]:
    """Return the tags by name, from the JSON objects `resources` and `detail` of a worker."""
    tags = {}
    if isinstance(resources, Mapping) and resources:
        tags["resources"] = ", ".join(f"{name}={amount}" for name, amount in sorted(resources.items()))
    detail = detail if isinstance(detail, Mapping) else {}
    machine, surroundings = detail.get("machine"), detail.get("surroundings")
    if isinstance(machine, list) and machine:
        tags["machine"] = " ".join(map(str, machine))
    if isinstance(detail.get("python"), str):
        tags["Python"] = detail["python"]
    release = detail.get("release")
    if isinstance(release, Mapping) and isinstance(release.get("name"), str):
        tags["release"] = release["name"]
    if isinstance(surroundings, Mapping):
        tags |= {str(name): str(value) for name, value in surroundings.items()}
    return {name[:LONGEST]: value[:LONGEST] for name, value in list(tags.items())[:MOST] if value}
