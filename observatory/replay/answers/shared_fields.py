"""Which fields of an answer a public link shows: those that the answer's schema lists, and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from ninja import Schema

from observatory.replay.scope import Scope, Section

EMPTY: Mapping[type, Any] = {str: "", list: [], dict: {}}
"""what a public link shows instead of a field that is not listed; null where the field can be null"""

SchemaClass = TypeVar("SchemaClass", bound=Schema)
Filter = Callable[[Any], Any]
_listed: dict[type[Schema], dict[str, Section | None]] = {}


def shared(*names: str, **in_sections: Section) -> Callable[[type[SchemaClass]], type[SchemaClass]]:
    """List the fields of a schema that each public link shows, and those that one with a section shows.

    Those that the schema inherits are listed, too, where the schema that has them lists them.
    Raises TypeError for a name that is no field.
    """

    def list_fields(schema: type[SchemaClass]) -> type[SchemaClass]:
        inherited = {
            name: section
            for base in reversed(schema.__mro__[1:])
            for name, section in _listed.get(base, {}).items()
        }
        listed = {**inherited, **dict.fromkeys(names), **in_sections}
        if unknown := listed.keys() - schema.model_fields.keys():
            raise TypeError(f"{schema.__name__} has no field {', '.join(sorted(unknown))}")
        _listed[schema] = listed
        return schema

    return list_fields


def shown(scope: Scope, schema: Any, document: Any) -> Any:
    """Return a document as the scope shows it; `schema` is the type of the document.

    Raises TypeError where a public scope would show a document without a schema.
    """
    if not scope.is_public:
        return document
    if schema is None:
        raise TypeError("an answer to a public link has no schema")
    return _filter(schema, scope.sections)(document)


def is_shown(schema: type[Schema], name: str, sections: frozenset[Section]) -> bool:
    """Return whether a public link with these sections shows a field."""
    listed = _listed.get(schema, {})
    return name in listed and (listed[name] is None or listed[name] in sections)


def _filter(annotation: Any, sections: frozenset[Section]) -> Filter:
    """Return a function that makes a copy of a value of a type with the shown fields alone."""
    if isinstance(annotation, type) and issubclass(annotation, Schema):
        return _schema_filter(annotation, sections)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        [inner] = [each for each in arguments if each is not NoneType] if NoneType in arguments else [Any]
        of_some = _filter(inner, sections)
        return _as_it_is if of_some is _as_it_is else lambda value: None if value is None else of_some(value)
    if origin is list:
        of_each = _filter(arguments[0], sections)
        return _as_it_is if of_each is _as_it_is else lambda value: [of_each(each) for each in value]
    if origin is dict:
        of_value = _filter(arguments[1], sections)
        if of_value is _as_it_is:
            return _as_it_is
        return lambda value: {name: of_value(each) for name, each in value.items()}
    return _as_it_is


@lru_cache
def _schema_filter(schema: type[Schema], sections: frozenset[Section]) -> Filter:
    filters = {
        name: _filter(field.annotation, sections)
        for name, field in schema.model_fields.items()
        if is_shown(schema, name, sections)
    }
    hidden = {
        name: empty
        for name, field in schema.model_fields.items()
        if name not in filters and field.is_required()
        for empty in _empty(field.annotation)
    }

    def shown_fields(document: Mapping[str, Any]) -> dict[str, Any]:
        return hidden | {name: of(document[name]) for name, of in filters.items() if name in document}

    return shown_fields


def _empty(annotation: Any) -> list[Any]:
    """Return what stands for a hidden field; nothing where it is left out."""
    if NoneType in get_args(annotation):
        return [None]
    of = get_origin(annotation) or annotation
    return [EMPTY[of]] if of in EMPTY else []


def _as_it_is(value: Any) -> Any:
    return value
