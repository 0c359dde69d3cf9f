"""The rows that go with a row, as the models' relations say: those that cascade, and theirs."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import TopologicalSorter

from django.db.models import CASCADE, SET_NULL, Field, ManyToOneRel, Model, Q

Rows = dict[type[Model], Q]
"""a condition for each model"""
Relation = tuple[type[Model], "Field[object, object]"]


def owned(root: Model, also: Rows) -> list[tuple[type[Model], Q]]:
    """The rows that go with `root` and with the rows `also`: those that refer to others first, `root` last.

    Conditions are read anew for each query: they hold while their rows are deleted in this order.
    """
    start: Rows = {**also, type(root): Q(pk=root.pk)}
    edges: dict[type[Model], set[type[Model]]] = {}
    waiting = list(start)
    while waiting:
        model = waiting.pop()
        if model not in edges:
            edges[model] = {referring for referring, _ in _referring(model, CASCADE)}
            waiting += edges[model]
    conditions: Rows = dict(start)
    order = list(TopologicalSorter(edges).static_order())
    for model in reversed(order):
        for referring, field in _referring(model, CASCADE):
            rows = model._base_manager.filter(conditions[model]).values("pk")
            condition = Q(**{f"{field.name}__in": rows})
            conditions[referring] = conditions.get(referring, Q(pk__in=())) | condition
    order.remove(type(root))
    return [(model, conditions[model]) for model in [*order, type(root)]]


def remaining(root: Model) -> Iterator[tuple[type[Model], Q]]:
    """The rows that refer to `root` and stay without it, such as those of a deleted author."""
    for model, field in _referring(type(root), SET_NULL):
        yield model, Q(**{field.name: root.pk})


def _referring(model: type[Model], on_delete: object) -> Iterator[Relation]:
    """The models that refer to `model` so, without the tables between two models."""
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel) and relation.on_delete is on_delete:
            referring = relation.related_model
            if not isinstance(referring, str) and not referring._meta.auto_created:
                yield referring, relation.field
