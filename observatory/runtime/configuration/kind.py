"""A kind of what files describe. The kinds are the modules of `kinds`; forms of the admin and pages validate.

An item goes from its text in a file to the data of a form, and, where the form is valid, from what the form
would save to the values of a file again. These are compared with those of the row that there is, so what an
export writes is what a plan compares, and a second `apply` finds nothing to do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Model, QuerySet

from observatory.clusters.models import Project
from observatory.runtime.configuration.fields import (
    Field,
    Value,
    default_of,
    default_text,
    form_text,
    plain,
    refuse_unknown_keys,
    text_of,
    texts_of,
)
from observatory.runtime.configuration.nodes import Mapping, Place, Problems, Scalar, nearest, shown
from observatory.runtime.configuration.secrets import Reference, Secret, SecretReader

ACTOR = User(username="dask-observatory apply", is_superuser=True)
"""for the forms: who may run commands on the server may do all"""
FindRows = Callable[[], Dict[str, list[int]]]
"""numbers by name"""


@dataclass(slots=True)
class Item:
    """One thing that a file describes."""

    kind: Kind
    key: str
    """what identifies it among those of its kind"""
    node: Mapping
    project: str = ""
    """slug of the project that it is written in"""
    owner: Item | None = None
    """the project that it is written in"""
    existing: Any = None
    """its row; None: it is to be added"""
    before: dict[str, Value] = field(default_factory=dict)
    """what a file would say of the row that there is"""
    saved: Any = None
    """its row, when it is as the file says"""
    secrets: dict[str, Secret] = field(default_factory=dict)
    """by the form's field"""

    @property
    def title(self) -> str:
        return f"{self.kind.name} {self.key}"

    def is_written(self, key: str) -> bool:
        """Whether the file says something of it; null is nothing."""
        node = self.node.entries.get(key)
        return node is not None and not (isinstance(node, Scalar) and node.text is None)

    def place_of(self, key: str) -> Place:
        """That of a key; of the item itself where the key isn't written."""
        node = self.node.entries.get(key)
        own = self.node.place
        return node.place if node else Place(own.file, own.line, f"{own.path}.{key}")


class DependsOnWrong(Exception):
    """An item names another that the files have with problems: those are told, not that it is missing."""


@dataclass(slots=True)
class Context:
    """Of one `apply`."""

    secrets: SecretReader
    problems: Problems
    declared: set[tuple[str, str]] = field(default_factory=set)
    """(name of the kind, key) of all items"""
    _found: dict[FindRows, Dict[str, list[int]]] = field(default_factory=dict)
    """kinds are saved in the order in which they name each other, so rows are looked up once"""

    def rows_named(self, item: Item, key: str, name: str, find: FindRows) -> list[int]:
        """The numbers of the rows of the kind `name` that the list `key` of an item names.

        `find` returns numbers by name. Raises DependsOnWrong.
        """
        node = item.node.entries.get(key)
        named = texts_of(node, self.problems) if node else []
        if named and find not in self._found:
            self._found[find] = find()
        rows = self._found[find] if named else {}
        numbers = []
        for each, text in named:
            found = rows.get(text, [])
            if len(found) == 1:
                numbers += found
            elif len(found) > 1:
                self.problems.add(each.place, f"{len(found)} have this name. Rename the others first.")
            elif (name, text) in self.declared:
                raise DependsOnWrong
            else:
                self.problems.add(each.place, f"There is no {name} {shown(text)}. {nearest(text, rows)}")
        return numbers


class Kind(ABC):
    name: ClassVar[str]
    section: ClassVar[str]
    """its key in files"""
    model: ClassVar[type[Model]]
    fields: ClassVar[tuple[Field, ...]]
    further_keys: ClassVar[tuple[str, ...]] = ()
    """that the kind reads itself"""

    @abstractmethod
    def key_of(self, row: Any) -> str:
        """The key of a row in exports."""

    @abstractmethod
    def identity(self, item: Item) -> Hashable:
        """What an item's row is known by, one of its identities; None: it can't be there yet."""

    @abstractmethod
    def identities_of(self, row: Any) -> list[Hashable]: ...

    def surest(self, item: Item) -> Hashable:
        """What its row is known by whatever marks and names say; None: nothing."""
        return None

    def unique_name(self, item: Item) -> Hashable:
        """The name that no other row may have; None: several may."""
        return None

    def unique_name_of(self, row: Any) -> Hashable:
        return None

    def candidates(self) -> QuerySet[Any]:
        """The rows that items can be."""
        return self.rows()

    @abstractmethod
    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        """The bound form of a new row or the existing one."""

    @abstractmethod
    def rows(self) -> QuerySet[Any]:
        """What an export has, in its order."""

    def written_key(self, node: Mapping, project: str, problems: Problems) -> str | None:
        """The key of an item in a file; None, and a problem, if it has none."""
        name = self._identifying_text("name", node, problems)
        return name and (f"{project}/{name}" if project else name)

    def refuse_unknown(self, node: Mapping, problems: Problems) -> None:
        refuse_unknown_keys(node, (*(each.key for each in self.fields), *self.further_keys), problems)

    def data(self, item: Item, context: Context) -> dict[str, Any]:
        """The data of the form. What isn't written has its default: files say all. Raises DependsOnWrong."""
        data: dict[str, Any] = {}
        for each in self.fields:
            node = item.node.entries.get(each.key)
            text = form_text(each, node, context.problems) if node else None
            data[each.form_name] = default_text(self.model, each) if text is None else text
        return data

    def errors(self, form: Any) -> list[tuple[str, list[str]]]:
        """(key, messages) of an invalid form; the key "" is the item itself."""
        keys = {each.form_name: each.key for each in self.fields}
        return [
            (keys.get(name, "" if name == NON_FIELD_ERRORS else name), messages_of(form, name))
            for name in form.errors
        ]

    def values(self, row: Any) -> dict[str, Value]:
        """What a file says of a stored row, defaults included."""
        return {each.key: plain(getattr(row, each.form_name), each) for each in self.fields}

    def values_of_form(self, form: Any, item: Item) -> dict[str, Value]:
        """What a file would say after the form is saved."""
        return self.values(form.instance)

    def references(self, form: Any, item: Item) -> dict[str, Reference]:
        return {name: secret.reference for name, secret in item.secrets.items()}

    def changed_secrets(self, form: Any, item: Item) -> list[str]:
        """The fields whose secret isn't the stored one. Asked before the form is saved."""
        return []

    def stored_secrets(self, row: Any) -> list[str]:
        """The fields whose secrets are stored."""
        return []

    def is_over(self, item: Item) -> bool:
        """Whether its time is past: it isn't made any more, nor changed."""
        return False

    def save(self, form: Any, item: Item, changed: set[str]) -> Model:
        """`changed`: the keys whose values change."""
        saved: Model = form.save()
        return saved

    def remove(self, row: Any) -> str:
        """Removes what is no longer in the files. Why it stays instead, or ""."""
        row.delete()
        return ""

    def defaults(self, values: Dict[str, Value]) -> dict[str, Value]:
        """The values that are not written. Lists are empty by default."""
        always = {each.key for each in self.fields if each.is_always_written}
        return {each.key: default_of(self.model, each) for each in self.fields if each.key not in always}

    def written(self, values: Dict[str, Value]) -> dict[str, Value]:
        """The values as an export writes them."""
        defaults = {**{key: [] for key, value in values.items() if value == []}, **self.defaults(values)}
        return {key: value for key, value in values.items() if key not in defaults or value != defaults[key]}

    def note(self, before: Dict[str, Value], after: Dict[str, Value]) -> str:
        """What a change does that people may not expect, or ""."""
        return ""

    def _identifying_text(self, key: str, node: Mapping, problems: Problems) -> str | None:
        value = node.entries.get(key)
        text = text_of(value, problems) if value else None
        if not text or not text.strip():
            problems.add(value.place if value else node.place, f"A {self.name} needs a {key}.")
            return None
        return text.strip()


def messages_of(form: Any, name: str) -> list[str]:
    """The messages of a field, with the choices of one that has some."""
    found = form.errors.as_data()[name]
    field_of_form = form.fields.get(name)
    choices = getattr(field_of_form, "choices", None)
    is_of_rows = isinstance(field_of_form, forms.ModelChoiceField)
    if choices and not is_of_rows and any(error.code == "invalid_choice" for error in found):
        return [f"Write one of: {', '.join(_flat(choices))}."]
    return [message for error in found for message in error.messages]


def _flat(choices: Any) -> list[str]:
    """The values of choices, which can be in groups."""
    flat: list[str] = []
    for value, label in choices:
        flat += _flat(label) if isinstance(label, list | tuple) else [str(value)]
    return [value for value in flat if value]


def project_of(item: Item) -> Project | None:
    """The project that it is written in; None: it isn't there."""
    if item.owner is None:
        return None
    found: Project | None = item.owner.saved or item.owner.existing
    return found


def in_project(item: Item, *identity: str) -> Hashable:
    """An identity in the item's project."""
    project = project_of(item)
    return None if project is None else (project.pk, *identity)
