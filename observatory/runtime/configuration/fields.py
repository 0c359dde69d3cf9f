"""The fields of what files describe: how they are written, in a form, and in the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from django.db.models import Model

from observatory.runtime.configuration.nodes import Mapping, Node, Problems, Scalar, Sequence, nearest

FLAGS = {"true": True, "false": False}
Value = Any
"""plain data as YAML has it"""


class Shape(Enum):
    TEXT = "a text or a number"
    FLAG = "true or false"
    LINES = "a list of texts"
    """one a line in the form"""


@dataclass(frozen=True, slots=True)
class Field:
    key: str
    """in files"""
    shape: Shape = Shape.TEXT
    name: str = ""
    """of the form and the model; "": as the key"""
    is_always_written: bool = False
    """in exports, also where it has its default"""

    @property
    def form_name(self) -> str:
        return self.name or self.key


def text_of(node: Node, problems: Problems) -> str | None:
    """None for null, and with a problem for what isn't a text."""
    if isinstance(node, Scalar):
        return node.text
    problems.add(node.place, f"Write {Shape.TEXT.value} here.")
    return None


def texts_of(node: Node, problems: Problems) -> list[tuple[Node, str]]:
    """The texts of a list, with their nodes."""
    if isinstance(node, Scalar) and node.text is None:
        return []
    if not isinstance(node, Sequence):
        problems.add(node.place, f"Write {Shape.LINES.value} here, as in [one, two].")
        return []
    found = []
    for item in node.items:
        text = text_of(item, problems)
        if text:
            found.append((item, text))
        elif isinstance(item, Scalar):
            problems.add(item.place, "This is empty. Remove it, or write a text.")
    return found


def form_text(field: Field, node: Node, problems: Problems) -> str | None:
    """The text of a form's field. None: nothing was written."""
    match field.shape:
        case Shape.LINES:
            return "\n".join(text for _, text in texts_of(node, problems))
        case Shape.FLAG:
            text = text_of(node, problems)
            if text is not None and text not in FLAGS:
                problems.add(node.place, "Write true or false here.")
            return None if text is None else "on" if FLAGS.get(text) else ""
        case Shape.TEXT:
            return text_of(node, problems)


def default_text(model: type[Model], field: Field) -> str:
    """The form's text of what the model has where nothing is said."""
    default = default_of(model, field)
    if isinstance(default, bool):
        return "on" if default else ""
    if isinstance(default, list):
        return "\n".join(default)
    return "" if default is None else str(default)


def default_of(model: type[Model], field: Field) -> Value:
    column: Any = model._meta.get_field(field.form_name)
    if not column.has_default() or callable(column.default):
        return [] if field.shape is Shape.LINES else "" if column.empty_strings_allowed else None
    return plain(column.default, field)


def plain(value: Any, field: Field | None = None) -> Value:
    """A value of a model as YAML has it."""
    if field is not None and field.shape is Shape.LINES:
        return [line.strip() for line in str(value).splitlines() if line.strip()]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return str(value) if isinstance(value, str) else value  # not a member of an enumeration


def refuse_unknown_keys(node: Mapping, known: Iterable[str], problems: Problems) -> None:
    keys = list(known)
    for name, value in node.entries.items():
        if name not in keys:
            problems.add(value.place, f"The key isn't known. {nearest(name, keys)}")
