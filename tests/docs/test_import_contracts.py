"""The contracts of import-linter allow what the picture in docs/architecture/README.md draws, and no more."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
ARROWS = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
ROOMS = {path.parent.name for path in (ROOT / "observatory").glob("*/__init__.py")}


def arrows() -> Iterator[tuple[str, str]]:
    """Each room of the picture with each that it points to."""
    page = (ROOT / "docs" / "architecture" / "README.md").read_text()
    picture, *_ = ARROWS.findall(page[page.index("## Source tree") :])
    for line in picture.splitlines()[1:]:
        for above, below in pairwise(line.split("-->")):
            yield from product(names(above, "&"), names(below, "&"))


def names(text: str, separator: str) -> list[str]:
    return [name.strip() for name in text.split(separator)]


def drawn() -> set[tuple[str, str]]:
    """The pairs of rooms of which the first may import the second, by arrows and ways of several arrows."""
    found = set(arrows())
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def rooms(contract: dict[str, Any], key: str) -> set[str]:
    """Whole rooms only: not a part of one."""
    return {module.split(".")[1] for module in contract[key]}


def allowed() -> set[tuple[str, str]]:
    """The pairs of rooms of which the first may import the second by the contracts."""
    [layers] = [contract["layers"] for contract in CONTRACTS if contract["type"] == "layers"]
    level = {room: depth for depth, layer in enumerate(layers) for room in names(layer, "|")}
    found = {(above, below) for above, below in permutations(level, 2) if level[above] < level[below]}
    for contract in CONTRACTS:
        if contract["type"] == "forbidden":
            found -= set(product(rooms(contract, "source_modules"), rooms(contract, "forbidden_modules")))
        elif contract["type"] == "protected":
            importers = rooms(contract, "allowed_importers")
            [protected] = contract["protected_modules"]
            if protected.count(".") == 1:
                found -= {(a, b) for a, b in found if f"observatory.{b}" == protected and a not in importers}
    return found


def test_the_contracts_allow_what_the_picture_draws() -> None:
    assert allowed() == drawn()


def test_each_room_is_in_the_picture() -> None:
    assert {room for pair in drawn() for room in pair} == ROOMS
