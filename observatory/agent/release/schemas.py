"""Checks Dask's configuration against the schemas that dask and distributed bring along."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from observatory.agent.configuration import Configuration

Schema = Mapping[str, Any]
"""as in JSON Schema"""

PACKAGES = ("dask", "distributed")
SIMILAR = 0.6
WORDS = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


@dataclass(frozen=True)
class Problem:
    key: str
    """with its parents: distributed.worker.memory.target"""
    text: str
    is_error: bool = True


def check(configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Yields what is wrong with a configuration of Dask. Values are not in the texts: they may be secret."""
    yield from _check(configuration, _schema(), ())


def _check(values: Mapping[str, Any], schema: Schema, parents: tuple[str, ...]) -> Iterator[Problem]:
    properties = {canonical(name): found for name, found in schema["properties"].items()}
    for name, value in values.items():
        path = (*parents, name)
        found = properties.get(canonical(name))
        if found is None:
            yield _unknown(path)
        elif "properties" in found and isinstance(value, Mapping):
            yield from _check(value, found, path)
        elif not _fits(value, found):
            yield Problem(".".join(path), f"is {_kind(value)}, must be {_wanted(found)}")


def canonical(name: str) -> str:
    """The name of a key as the schemas write it: Dask takes - and _ for the same."""
    return name.replace("_", "-")


def _unknown(path: tuple[str, ...]) -> Problem:
    key, wanted = ".".join(path), ".".join(map(canonical, path))
    if "." in path[-1] and wanted in _names():
        return Problem(key, "write a key with dots as nested keys: Dask doesn't read it")
    nearest = difflib.get_close_matches(wanted, _names(), 1, SIMILAR)
    hint = f"; the nearest one is {nearest[0]}" if nearest else ""
    return Problem(key, f"is not known to Dask's schema{hint}", is_error=False)


@cache
def _schema() -> Schema:
    """The schema of all keys that are known: those of Dask and of the agent."""
    properties = {"observatory": _schema_of_agent()}
    for package in PACKAGES:
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            path = Path(folder) / f"{package}-schema.yaml"
            properties |= yaml.safe_load(path.read_text())["properties"] if path.exists() else {}
    return {"type": "object", "properties": properties}


def _schema_of_agent() -> Schema:
    properties = {
        canonical(name): {"type": _types_like(name, default)}
        for name, default in asdict(Configuration()).items()
    }
    properties["labels"] = {"type": ["object", "string"]}  # of a worker: agent/worker/labels.py
    return {"type": "object", "properties": properties}


def _types_like(name: str, default: Any) -> list[str]:
    if isinstance(default, int):
        return ["integer", "string"]
    if isinstance(default, float):
        return ["number", "string"]
    if isinstance(default, Mapping):
        return ["object"]
    return ["string", "boolean"] if name == "verify" else ["string"]


@cache
def _names() -> tuple[str, ...]:
    return tuple(_names_of(_schema(), ()))


def _names_of(schema: Schema, parents: tuple[str, ...]) -> Iterator[str]:
    for name, found in schema.get("properties", {}).items():
        path = (*parents, canonical(name))
        yield ".".join(path)
        yield from _names_of(found, path)


def _fits(value: Any, schema: Schema) -> bool:
    if "oneOf" in schema:
        return any(_fits(value, each) for each in schema["oneOf"])
    if "enum" in schema:
        return any(
            value == each and isinstance(value, bool) == isinstance(each, bool) for each in schema["enum"]
        )
    types = _types(schema)
    if types and not any(_is(value, name) for name in types):
        return False
    if isinstance(value, list) and "items" in schema:
        return all(_fits(each, schema["items"]) for each in value)
    return isinstance(value, bool) or not isinstance(value, (int, float)) or _is_within(value, schema)


def _is_within(value: float, schema: Schema) -> bool:
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    more_than = schema.get("exclusiveMinimum", -math.inf)
    return bool(least <= value <= most and more_than < value)


def _types(schema: Schema) -> list[str]:
    found = schema.get("type", [])
    return [found] if isinstance(found, str) else list(found)


def _is(value: Any, name: str) -> bool:
    return _type(value) == name or (name == "number" and _type(value) == "integer")


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _kind(value: Any) -> str:
    return WORDS[_type(value)]


def _wanted(schema: Schema) -> str:
    """What a schema allows, in words."""
    if "oneOf" in schema:
        return " or ".join(_wanted(each) for each in schema["oneOf"])
    if "enum" in schema:
        names = ["null" if each is None else str(each).lower() for each in schema["enum"]]
        return names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    wanted = " or ".join(WORDS[name] for name in _types(schema))
    limits = (
        ("exclusiveMinimum", "more than"),
        ("minimum", "at least"),
        ("maximum", "at most"),
    )
    bounds = [f"{words} {schema[name]}" for name, words in limits if name in schema]
    if bounds:
        wanted += f" of {' and '.join(bounds)}"
    return f"{wanted} of {_wanted(schema['items'])}" if _types(schema.get("items", {})) else wanted
