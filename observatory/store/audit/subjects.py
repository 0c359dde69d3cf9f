"""What the audit log notes: the tables of the models, and which of their columns.

A model that no list here names is noted with all fields that people edit. Secrets are noted as hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from django.apps import apps
from django.db.models import Field, ForeignKey, Model

PROJECT = "clusters.Project"
PERSON = "auth.User"
PSEUDONYM = "deleted person "
"""before the number of the account"""
NOT_NOTED = {
    *("clusters.AuditEntry", "clusters.IngestRefusal", "clusters.MetricHelp", "clusters.Provisioned"),
    *("runs.Usage", "runs.RunError", "runs.RunFindings", "runs.RunExplanation", "runs.RunDiscovery"),
    *("runs.SavedFilter", "alerts.RuleMade", "alerts.Progress", "alerts.Delivery"),
    "exchange.RunDelivery",
    *("auth.Permission",),
}
"""what records, counts and searches write, and what only its owner sees"""
OTHER_APPS = {"auth"}
"""applications of libraries that are noted; of the others, only OTHER_MODELS"""
OTHER_MODELS = {"socialaccount.SocialAccount"}
SECRET = re.compile(r"secret|password|digest|token|private_key|dsn", re.IGNORECASE)
UNEDITED = ("secret", "revoked", "scopes")
"""names of fields that people change, although no form has them"""
LEFT_OUT = {
    *("digest", "prefix", "created", "created_by", "last_login", "date_joined", "note", "extra_data"),
    *("progress", "amounts", "finished", "by_groups"),
}
"""notes of invitations name people who have no account, whom nothing could forget"""
COLUMNS = {
    "alerts.Alert": ("acknowledged", "acknowledgement"),
    "clusters.Deletion": ("kind", "subject", "state", "message"),
    "exchange.Job": ("kind", "format", "file_name", "size", "state"),
    "runs.Run": ("name", "start", "stop", "tags", "pinned"),
}
"""where not all that is edited is noted"""
OPERATIONS = {
    "alerts.Alert": ("UPDATE",),
    "clusters.Cluster": ("DELETE",),
    "exchange.Job": ("INSERT",),
}
"""of the others EVERY_OPERATION"""
EVERY_OPERATION = ("INSERT", "UPDATE", "DELETE")
ONLY_OF_PEOPLE = {"alerts.Alert", "clusters.Cluster", "clusters.Target", "runs.Attachment", "runs.Run"}
"""what the collector, discoveries and clients change, too: that isn't noted"""
ALWAYS = {"clusters.Deletion"}
"""noted even while an actor is not"""
OF_PERSON = {
    *("clusters.Membership", "clusters.AccessToken", "clusters.ScimPerson", "socialaccount.SocialAccount"),
}
"""entries of these are about the account in their column user_id"""
WORDS = {"auth.User": "person", "auth.Group": "group of people", "clusters.Membership": "member"}
"""kinds in the words of people; else Django's verbose_name"""
OTHER_KINDS = {"session", "export", "records", "query of SQL", "query of Prometheus", "role of SQL"}
"""kinds of entries that are no change of a row"""
NAMES = ("name", "username", "group", "file_name", "run_name", "uid", "comment")
"""fields that name a row, the best first; without one, what the row refers to does"""
LONGEST_PATH = 3


@dataclass(frozen=True, slots=True)
class Subject:
    """A table whose changes are noted. The texts of SQL are about its row `r`."""

    table: str
    key: str
    """its column"""
    kind: str
    columns: tuple[str, ...]
    hidden: tuple[str, ...]
    """columns of which only that they changed is noted"""
    name: str
    """SQL: the row's name"""
    projects: str
    """SQL: the numbers of the projects that it is in, an array"""
    person: str
    """SQL: the account that it is about, or NULL"""
    operations: tuple[str, ...]
    only_of_people: bool
    always: bool
    revocable: bool
    puts_into_projects: tuple[str, str, str] | None
    """of a table between a model and projects: its columns of these, and the model's kind"""


def subjects() -> list[Subject]:
    return [_subject(model) for model in noted_models()]


def noted_models() -> Iterator[type[Model]]:
    """In the order of their tables' names."""
    for model in sorted(apps.get_models(include_auto_created=True), key=lambda model: model._meta.db_table):
        label, app = model._meta.label, model._meta.app_config
        is_ours = app.name.startswith("observatory.") or app.label in OTHER_APPS or label in OTHER_MODELS
        if is_ours and label not in NOT_NOTED and model._meta.managed:
            yield model


def is_noted(table: str, operation: str) -> bool:
    """Whether entries are made of this operation (INSERT, UPDATE, DELETE) on the table."""
    noted = _operations().get(table, ())
    # one that inserts can update, where the row is there
    return operation in noted or (operation == "INSERT" and "UPDATE" in noted)


@cache
def _operations() -> dict[str, tuple[str, ...]]:
    """By table, those that are noted."""
    return {
        model._meta.db_table: OPERATIONS.get(model._meta.label, EVERY_OPERATION) for model in noted_models()
    }


def noted_kinds() -> list[str]:
    """In the words of people, in the order of the alphabet; “session” is that of sign-ins."""
    return sorted({word_of(model) for model in noted_models()} | OTHER_KINDS)


def word_of(model: type[Model]) -> str:
    """The kind of its rows, such as “ingest token”; of a table between two models “rule: projects”."""
    if source := _source(model):
        return f"{word_of(source)}: {_field_of(source, model).verbose_name}"
    return WORDS.get(model._meta.label) or str(model._meta.verbose_name)


def _source(model: type[Model]) -> type[Model] | None:
    """The model that a table between two models is of."""
    return cast("type[Model] | None", model._meta.auto_created or None)


def _field_of(source: type[Model], between: type[Model]) -> Any:
    """The field of a model whose rows are in a table between two."""
    [field] = [field for field in source._meta.many_to_many if field.remote_field.through is between]
    return field


def _subject(model: type[Model]) -> Subject:
    label = model._meta.label
    key = str(model._meta.pk.column)
    columns = tuple(str(field.column) for field in _fields(model) if field.column != key)
    return Subject(
        table=model._meta.db_table,
        key=key,
        kind=word_of(model),
        columns=columns,
        hidden=tuple(column for column in columns if SECRET.search(column)),
        name=_name(model),
        projects=f"coalesce({_projects_of(model)}, '{{}}'::int[])",
        person=_person(model),
        operations=OPERATIONS.get(label, EVERY_OPERATION),
        only_of_people=label in ONLY_OF_PEOPLE,
        always=label in ALWAYS,
        revocable="revoked" in columns,
        puts_into_projects=_puts_into_projects(model),
    )


def _puts_into_projects(model: type[Model]) -> tuple[str, str, str] | None:
    if (source := _source(model)) is None:
        return None
    field = _field_of(source, model)
    if field.related_model._meta.label != PROJECT:
        return None
    return str(field.m2m_column_name()), str(field.m2m_reverse_name()), word_of(source)


def _fields(model: type[Model]) -> list[Field]:  # type: ignore[type-arg]
    fields = [field for field in model._meta.concrete_fields if isinstance(field, Field)]
    if wanted := COLUMNS.get(model._meta.label):
        return [field for field in fields if field.name in wanted]
    return [
        field for field in fields if (field.editable or field.name in UNEDITED) and field.name not in LEFT_OUT
    ]


def _name(model: type[Model]) -> str:
    label = model._meta.label
    if label == "clusters.Deletion":  # the name of a person would outlive the person
        return f"CASE r.kind WHEN 'person' THEN '{PSEUDONYM}' || r.subject ELSE r.name END"
    return _name_of(model, "r", LONGEST_PATH) or f"r.{model._meta.pk.column}::text"


def _name_of(model: type[Model], row: str, depth: int) -> str:
    """SQL; "" where neither the model has a name nor what it refers to."""
    columns = {field.name for field in model._meta.concrete_fields if not field.is_relation}
    for name in NAMES:
        if name in columns:
            return f'{row}."{name}"'
    for field in _references(model) if depth else ():
        to = field.related_model
        if to._meta.label == PROJECT and len(_references(model)) > 1 and not model._meta.auto_created:
            continue
        if found := _name_of(to, f"n{depth}", depth - 1):
            return _looked_up(field, row, f"n{depth}", found)
    return ""


def _projects_of(model: type[Model]) -> str:
    if model._meta.label == "clusters.Deletion":
        kinds = {"project": PROJECT, "cluster": "clusters.Cluster", "rule": "alerts.Rule"}
        kinds["channel"] = "alerts.Channel"
        cases = [f"WHEN '{kind}' THEN {_of_subject(apps.get_model(label))}" for kind, label in kinds.items()]
        return f"(CASE r.kind {' '.join(cases)} END)"
    return _projects(model, "r", LONGEST_PATH) or "NULL"


def _of_subject(model: type[Model]) -> str:
    found, table = _projects(model, "d", LONGEST_PATH), model._meta.db_table
    return f'(SELECT {found} FROM "{table}" d WHERE d.id = r.subject)'


@cache
def _projects(model: type[Model], row: str, depth: int) -> str:
    """SQL: an array of numbers, or NULL; "" where the model is in no project."""
    if model._meta.label == PROJECT:
        return f"ARRAY[{row}.id]"
    for field in _references(model):
        if field.related_model._meta.label == PROJECT:
            return f'array_remove(ARRAY[{row}."{field.column}"], NULL)'
    for many in model._meta.many_to_many:
        if many.related_model._meta.label == PROJECT:
            through = many.m2m_db_table()
            mine, theirs = many.m2m_column_name(), many.m2m_reverse_name()
            return f'(SELECT array_agg(m."{theirs}") FROM "{through}" m WHERE m."{mine}" = {row}.id)'
    for field in sorted(_references(model), key=lambda field: field.null) if depth else ():
        if found := _projects(field.related_model, f"p{depth}", depth - 1):
            return _looked_up(field, row, f"p{depth}", found)
    return ""


def _person(model: type[Model]) -> str:
    label = model._meta.label
    if label == PERSON:
        return "r.id"
    if label == "clusters.Deletion":
        return "CASE r.kind WHEN 'person' THEN r.subject END"
    source = _source(model)
    is_of_person = label in OF_PERSON or (source is not None and source._meta.label == PERSON)
    return "r.user_id" if is_of_person else "NULL"


def _references(model: type[Model]) -> list[ForeignKey]:  # type: ignore[type-arg]
    """To rows that it is part of; who made a row is not among them."""
    return [
        field
        for field in model._meta.concrete_fields
        if isinstance(field, ForeignKey)
        and field.name not in LEFT_OUT
        and field.related_model._meta.app_label not in ("contenttypes",)
    ]


def _looked_up(field: ForeignKey, row: str, alias: str, wanted: str) -> str:  # type: ignore[type-arg]
    to = field.related_model._meta
    column = to.pk.column
    return f'(SELECT {wanted} FROM "{to.db_table}" {alias} WHERE {alias}."{column}" = {row}."{field.column}")'
