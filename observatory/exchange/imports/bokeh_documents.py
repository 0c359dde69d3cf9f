"""Reads the document of Bokeh that is embedded in an HTML file: its models, tables and tabs.

Until Bokeh 2 a document is a list of models that name each other by their ids; from Bokeh 3 on a model stands
where it is used first, and values that JSON can't write are objects with a type.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from observatory.exchange.imports.agent_rows import as_list, as_mapping, as_text
from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.refusal import Refused
from observatory.exchange.imports.unpacking import opened

LARGEST = 256 * 2**20
"""bytes, unpacked"""
EMBEDDED = re.compile(rb'<script type="application/json"[^>]{0,200}>(.*?)</script>', re.DOTALL)
NUMBERS = {"bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64"}
"""types of arrays"""
ORDERS = {"little": "<", "big": ">"}
Table = Mapping[str, list[Any]]
"""columns of equal lengths, by name"""


@dataclass(frozen=True)
class Model:
    name: str
    attributes: Mapping[Any, Any]


class Document:
    """The models of a document, by id."""

    def __init__(self, content: Any) -> None:
        self._models: dict[str, Model] = {}
        for item in _objects(as_mapping(content).get("roots")):
            name = item.get("name", item.get("type")) if item.get("type") == "object" else item.get("type")
            if "attributes" in item and isinstance(name, str):
                self._models[as_text(item.get("id"))] = Model(name, as_mapping(item["attributes"]))

    def tabs(self) -> dict[str, list[Model]]:
        """The models of each tab, by its title; all models as the tab "" if there are no tabs."""
        for model in self._models.values():
            if model.name == "Tabs":
                panels = [self._model(panel) for panel in as_list(model.attributes.get("tabs"))]
                return {
                    as_text(panel.attributes.get("title")): list(self._below(panel))
                    for panel in panels
                    if panel is not None
                }
        return {"": list(self._models.values())}

    def _model(self, reference: Any) -> Model | None:
        return self._models.get(as_text(as_mapping(reference).get("id")))

    def _below(self, top: Model) -> Iterator[Model]:
        """The models that a model uses, itself included."""
        seen = {id(top)}
        left = [top]
        while left:
            model = left.pop()
            yield model
            for item in _objects(model.attributes):
                used = self._model(item)
                if used is not None and id(used) not in seen:
                    seen.add(id(used))
                    left.append(used)


def read_document(path: Path) -> Document:
    """The first document of the file. Raises Refused."""
    with opened(path, LARGEST) as file:
        found = EMBEDDED.search(file.read())
    if found is None:
        raise Refused(
            "It is a page without a document of Bokeh: of pages, those of Dask's performance_report and of "
            "get_task_stream(plot='save') can be imported. Of a run of an Observatory, import the bundle."
        )
    allowance = Allowance(path.stat().st_size)
    allowance.take("containers", found[1].count(b"[") + found[1].count(b"{"))
    try:
        documents = json.loads(html.unescape(found[1].decode()))
    except (ValueError, RecursionError) as error:
        raise Refused(f"The page's document can't be read as JSON: {str(error)[:200]}.") from None
    return Document(next(iter(as_mapping(documents).values()), None))


def table_of(model: Model, *names: str) -> Table | None:
    """The named columns of a ColumnDataSource; None if it lacks one, or they differ in length."""
    data = model.attributes.get("data") if model.name == "ColumnDataSource" else None
    columns = as_mapping(data)
    if columns.get("type") == "map":
        entries = as_list(columns.get("entries"))
        columns = {entry[0]: entry[1] for entry in entries if _is_pair(entry) and isinstance(entry[0], str)}
    found = {name: _column(columns[name]) for name in names if name in columns}
    if len(found) < len(names) or len({len(column) for column in found.values()}) > 1:
        return None
    return found


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 2


def _column(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [_value(item) for item in value]
    item = as_mapping(value)
    content = item.get("__ndarray__", item.get("array"))
    content = content.get("data") if isinstance(content, dict) else content
    dtype, order = item.get("dtype"), item.get("order", "little")
    if isinstance(content, list):
        return [_value(one) for one in content]
    if not isinstance(content, str) or dtype not in NUMBERS or order not in ORDERS:
        return []
    try:
        data = base64.b64decode(content, validate=True)
        return list(np.frombuffer(data, np.dtype(dtype).newbyteorder(ORDERS[order])).tolist())
    except (binascii.Error, ValueError):
        return []


def _value(item: Any) -> Any:
    """Of {"type": "number", "value": "nan"} the number."""
    if isinstance(item, dict) and item.get("type") == "number":
        try:
            return float(item.get("value", "nan"))
        except (TypeError, ValueError):
            return None
    return item


def _objects(content: Any) -> Iterator[Mapping[Any, Any]]:
    """All objects within a value, at any depth."""
    left = [content]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
