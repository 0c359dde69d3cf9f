"""What channels and receivers of runs share in files: an address and lists of what is sent."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar

from django.db.models import QuerySet

from observatory.alerts.secrets import SecretLost
from observatory.runtime.configuration.fields import Value
from observatory.runtime.configuration.kind import Context, Item, Kind
from observatory.runtime.configuration.scopes import names

ADDRESS = "address"


class SendingKind(Kind):
    """For models with `secret`, `enabled` and `deliveries`, whose form has the secrets as fields."""

    secrets: ClassVar[tuple[str, ...]] = (ADDRESS,)
    """keys of secrets. An address has to be written"""
    lists: ClassVar[dict[str, Callable[[Item, Context], list[int]]]]
    """keys of lists of what it is limited to, with what reads the numbers of their rows"""
    deliveries: ClassVar[str]
    """what it has sent"""

    def __init_subclass__(cls) -> None:
        cls.further_keys = (*cls.secrets, *cls.lists)

    def secrets_of(self, row: Any) -> dict[str, str]:
        """What is stored, as files have it, but for what is empty. Raises SecretLost."""
        raise NotImplementedError

    def secrets_of_form(self, form: Any) -> dict[str, str]:
        """What a valid form would store."""
        raise NotImplementedError

    def key_of(self, row: Any) -> str:
        return str(row.name)

    def identity(self, item: Item) -> Hashable:
        return item.key

    def identities_of(self, row: Any) -> list[Hashable]:
        return [row.name]

    def data(self, item: Item, context: Context) -> dict[str, Any]:
        for key in self.secrets:
            node = item.node.entries.get(key)
            if node is not None and (secret := context.secrets.read(node, context.problems)):
                item.secrets[key] = secret
        if ADDRESS not in item.node.entries:
            context.problems.add(item.place_of(ADDRESS), f"A {self.name} needs an address.")
        lists = {key: read(item, context) for key, read in self.lists.items()}
        texts = {name: each.text for name, each in item.secrets.items()}
        return {**super().data(item, context), **lists, **texts}

    def values(self, row: Any) -> dict[str, Value]:
        chosen = {key: names(key, getattr(row, key).all()) for key in self.lists}
        return {**super().values(row), **chosen}

    def values_of_form(self, form: Any, item: Item) -> dict[str, Value]:
        chosen = {key: names(key, form.cleaned_data[key]) for key in self.lists}
        return {**super().values(form.instance), **chosen}

    def changed_secrets(self, form: Any, item: Item) -> list[str]:
        try:
            stored = self.secrets_of(form.instance) if form.instance.secret else {}
        except SecretLost:
            stored = {}
        entered = self.secrets_of_form(form)
        return [key for key in self.secrets if stored.get(key) != entered.get(key)]

    def stored_secrets(self, row: Any) -> list[str]:
        try:
            return list(self.secrets_of(row))
        except SecretLost:
            return [ADDRESS]

    def rows(self) -> QuerySet[Any]:
        return self.model._default_manager.prefetch_related(*self.lists).order_by("name", "pk")

    def remove(self, row: Any) -> str:
        """One that has sent something is a record of that."""
        if count := row.deliveries.count():
            row.enabled = False
            row.save(update_fields=["enabled"])
            return f"It is disabled, as {count} {self.deliveries} are its record. The admin deletes it."
        return super().remove(row)
