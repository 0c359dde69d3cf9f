"""Finds rows with a statement that Django compiles once: for what each batch of an agent asks.

To compile it takes longer than to run it: half of the time of a small batch went into that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connection
from django.db.models import Model

M = TypeVar("M", bound=Model)


class Statement(NamedTuple):
    sql: str
    parameters: tuple[Any, ...]
    """with the examples in the places of the values"""
    converters: dict[int, tuple[list[Any], Any]]
    """by column: Django's functions that make a value of what the database returns, and their expression"""


class CompiledLookup(Generic[M]):
    """Finds an object by the values of fields that identify it."""

    def __init__(self, model: type[M], by: Mapping[str, Any], related: str = "", **conditions: Any) -> None:
        """`by`: the fields, each with an example that nothing else of the statement is.

        `related`: a foreign key whose object is read with it. `conditions`: further ones, as of `filter`.
        """
        self.model = model
        self.by = by
        self.related = related
        self.conditions = conditions

    def find(self, *values: Any) -> M | None:
        """The object with these values of the fields `by`; None without one."""
        statement = self._statement
        of_example = dict(zip(self.by.values(), values, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, [of_example.get(each, each) for each in statement.parameters])
            row = cursor.fetchone()
        if row is None:
            return None
        columns = list(row)
        for place, (functions, expression) in statement.converters.items():
            for convert in functions:
                columns[place] = convert(columns[place], expression, connection)
        return self._object(columns)

    @cached_property
    def _statement(self) -> Statement:
        names = _columns(self.model)
        if self.related:
            names = names + [f"{self.related}__{name}" for name in _columns(self._related_model)]
        rows = self.model._default_manager.order_by().filter(**self.by, **self.conditions).values_list(*names)
        compiler = rows.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([expression for expression, _, _ in compiler.select])
        return Statement(sql, parameters, converters)

    def _object(self, columns: list[Any]) -> M:
        names = _columns(self.model)
        found = self.model.from_db(connection.alias, names, columns[: len(names)])
        if self.related:
            model = self._related_model
            setattr(
                found, self.related, model.from_db(connection.alias, _columns(model), columns[len(names) :])
            )
        return found

    @cached_property
    def _related_model(self) -> type[Model]:
        model: type[Model] = self.model._meta.get_field(self.related).related_model  # type: ignore[assignment]
        return model


def _columns(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]
