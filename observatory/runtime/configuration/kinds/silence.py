"""Silences. Expired ones are over: they aren't made again, nor exported."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import sha256
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.timezone import now

from observatory.alerts.admin.silence_forms import SilenceForm
from observatory.alerts.models import Silence
from observatory.runtime.configuration.fields import Field, Value, plain
from observatory.runtime.configuration.kind import Context, Item, Kind
from observatory.runtime.configuration.nodes import Mapping, Problems, Scalar
from observatory.runtime.configuration.scopes import names, projects_data

IDENTIFYING = ("comment", "matchers", "starts")


class SilenceKind(Kind):
    name, section, model = "silence", "silences", Silence
    fields = (
        Field("comment", is_always_written=True),
        Field("matchers", is_always_written=True),
        Field("starts", is_always_written=True),
        Field("expires", is_always_written=True),
    )
    further_keys = ("projects",)

    def key_of(self, row: Silence) -> str:
        return _key(row.comment, row.matchers, plain(row.starts))

    def written_key(self, node: Mapping, project: str, problems: Problems) -> str | None:
        """Silences have no names: all but their ends and projects identifies them."""
        texts = [self._identifying_text(name, node, problems) for name in IDENTIFYING]
        comment, matchers, starts = texts
        if not comment or not matchers or not starts:
            return None
        return _key(comment, matchers, plain(_time(starts) or starts))

    def identity(self, item: Item) -> Hashable:
        starts = _time(_text(item.node, "starts"))
        return starts and (_text(item.node, "comment"), _text(item.node, "matchers"), starts)

    def identities_of(self, row: Silence) -> list[Hashable]:
        return [(row.comment, row.matchers, row.starts)]

    def candidates(self) -> QuerySet[Silence]:
        """Also expired ones, which files can still have."""
        return Silence.objects.prefetch_related("projects")

    def data(self, item: Item, context: Context) -> dict[str, Any]:
        return {**super().data(item, context), "projects": projects_data(item, context)}

    def form(self, data: dict[str, Any], item: Item) -> forms.BaseModelForm[Any]:
        return SilenceForm(data, instance=item.existing)

    def values(self, row: Silence) -> dict[str, Value]:
        return {**super().values(row), "projects": names("projects", row.projects.all())}

    def values_of_form(self, form: Any, item: Item) -> dict[str, Value]:
        return {
            **super().values(form.instance),
            "projects": names("projects", form.cleaned_data["projects"]),
        }

    def rows(self) -> QuerySet[Silence]:
        found = Silence.objects.filter(expires__gt=now()).prefetch_related("projects")
        return found.order_by("starts", "comment", "matchers", "pk")

    def is_over(self, item: Item) -> bool:
        expires, at = _time(_text(item.node, "expires")), now()
        if expires is None or expires > at:
            return False
        return item.existing is None or item.existing.expires <= at


def _key(comment: str, matchers: str, starts: str) -> str:
    """Short, as a comment can have 1,000 characters: its beginning, and a digest."""
    digest = sha256(f"{comment}\0{matchers}\0{starts}".encode()).hexdigest()[:12]
    return f"{comment[:60]} ({digest})"


def _text(node: Mapping, name: str) -> str:
    value = node.entries.get(name)
    return (value.text or "").strip() if isinstance(value, Scalar) else ""


def _time(text: str) -> Any:
    """As the form reads it; None for what is no time."""
    try:
        return forms.DateTimeField().clean(text)
    except ValidationError:
        return None
