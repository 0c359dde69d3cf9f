"""Reads Dask's cluster dumps (`Client.dump_cluster_state`): plain data within limits of size and depth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgpack
import yaml

from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.imports.unpacking import opened

LARGEST = 1024 * 2**20
LARGEST_YAML = 128 * 2**20
"""bytes, unpacked"""
MOST_ITEMS, MOST_YAML_ITEMS = 30_000_000, 5_000_000
EACH = 8
"""items that a list or object counts as, for the memory that it takes itself"""
LONGEST_INTEGER = 20
"""characters of an integer of 64 bits"""
LONGEST_TEXT = 16 * 2**20
DEEPEST = 100
PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")}

Dump = Mapping[str, Any]


def read_msgpack(path: Path) -> Dump:
    """Raises Refused."""
    with opened(path, LARGEST) as file:
        try:
            return _checked(_unpack(file, Allowance(path.stat().st_size)))
        except (msgpack.UnpackException, msgpack.StackError, ValueError, TypeError, RecursionError) as error:
            if isinstance(error, Refused):
                raise
            raise Refused(f"It can't be read as msgpack: {_short(error)}.") from None


def _unpack(file: BinaryIO, allowance: Allowance) -> Any:
    left = MOST_ITEMS

    def take(items: Any) -> Any:
        nonlocal left
        left -= EACH + len(items)
        allowance.take("values", EACH + len(items))
        if left < 0:
            raise Refused(f"The dump holds more than {MOST_ITEMS:,} things.")
        return items

    def no_extension(code: int, data: bytes) -> Any:
        raise Refused(
            "The dump holds what is no plain data (a msgpack extension), which no dump of Dask has."
        )

    unpacker = msgpack.Unpacker(
        file,
        raw=False,
        strict_map_key=False,
        unicode_errors="replace",
        max_buffer_size=LARGEST,
        max_str_len=LONGEST_TEXT,
        max_bin_len=LONGEST_TEXT,
        max_array_len=MOST_ITEMS // 2,
        max_map_len=MOST_ITEMS // 4,
        max_ext_len=0,
        ext_hook=no_extension,
        list_hook=take,
        object_hook=take,
    )
    return unpacker.unpack()


def read_yaml(path: Path) -> Dump:
    """Raises Refused."""
    try:
        with opened(path, LARGEST_YAML) as file:
            _check_events(file, Allowance(path.stat().st_size))
        with opened(path, LARGEST_YAML) as file:
            # the first document alone: the next one may begin with directives, which libyaml reads slowly
            return _checked(next(yaml.load_all(file, Loader=_Loader), None))
    except (yaml.YAMLError, RecursionError, TypeError, UnicodeDecodeError, OverflowError) as error:
        raise Refused(f"It can't be read as YAML: {_short(error)}.") from None
    except ValueError as error:  # an invalid date
        raise (
            error if isinstance(error, Refused) else Refused(f"It can't be read as YAML: {_short(error)}.")
        ) from None


class _Loader(yaml.CSafeLoader):
    """Leaves integers of more than 64 bits as texts: sums of sexagesimal digits and dictionaries of numbers
    with equal hashes take quadratic time."""


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int | str:
    if len(node.value) > LONGEST_INTEGER:
        return str(node.value)
    return int(loader.construct_yaml_int(node))


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


def _check_events(file: BinaryIO, allowance: Allowance) -> None:
    """Checks the events of the first document before anything is built.

    There are no aliases and no tags, and depth and size are limited.
    """
    depth = items = 0
    for event in yaml.parse(file, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.DocumentEndEvent):
            return
        if isinstance(event, yaml.AliasEvent):
            raise Refused("The YAML has an alias (*), which no dump of Dask has.")
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in PLAIN:
            raise Refused(f"The YAML names a type, {tag[:100]!r}: only plain data is read.")
        cost = 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            cost += EACH
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        items += cost
        allowance.take("values", cost)
        if depth > DEEPEST:
            raise Refused(f"The YAML is nested deeper than {DEEPEST} levels.")
        if items > MOST_YAML_ITEMS:
            raise Refused(f"The YAML holds more than {MOST_YAML_ITEMS:,} things: dump it as msgpack.")


def _checked(state: Any) -> Dump:
    if not isinstance(state, dict) or not isinstance(state.get("scheduler"), dict):
        raise Refused("It is no cluster dump: one is an object with `scheduler`, `workers` and `versions`.")
    return state


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
