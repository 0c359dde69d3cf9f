"""The credentials of targets and discoveries, whose fields are secrets by reference."""

from __future__ import annotations

from typing import Any

from observatory.collect.credentials.credentials import PARTS
from observatory.collect.credentials.form import FIELDS, CredentialsForm
from observatory.collect.credentials.storage import CredentialsLost, stored_parts, unseal
from observatory.runtime.configuration.fields import refuse_unknown_keys
from observatory.runtime.configuration.kind import Context, Item, Kind, project_of
from observatory.runtime.configuration.nodes import Mapping, Scalar

KEY = "credentials"


class OfServers(Kind):
    """What a project requests with credentials.

    Files say all: stored ones that they don't name are removed.
    """

    further_keys = (KEY,)

    def data(self, item: Item, context: Context) -> dict[str, Any]:
        self._read(item, context)
        texts = {name: secret.text for name, secret in item.secrets.items()}
        project = project_of(item)
        own = {"project": project and project.pk, "forget": _forgotten(item, texts)}
        return {**super().data(item, context), **texts, **own}

    def errors(self, form: Any) -> list[tuple[str, list[str]]]:
        found = super().errors(form)
        return [(f"{KEY}.{key}" if key in FIELDS else key, messages) for key, messages in found]

    def changed_secrets(self, form: CredentialsForm, item: Item) -> list[str]:
        stored, wanted = form.stored, form.credentials
        return [f"{KEY}.{name}" for name in FIELDS if getattr(stored, name) != getattr(wanted, name)]

    def stored_secrets(self, row: Any) -> list[str]:
        try:
            return list(unseal(row.secret).as_fields())
        except CredentialsLost:
            return []

    def _read(self, item: Item, context: Context) -> None:
        node = item.node.entries.get(KEY)
        if node is None or (isinstance(node, Scalar) and node.text is None):
            return
        if not isinstance(node, Mapping):
            context.problems.add(node.place, f"Write an object here, with {', '.join(FIELDS)}.")
            return
        refuse_unknown_keys(node, FIELDS, context.problems)
        for name in FIELDS:
            if name in node.entries and (
                secret := context.secrets.read(node.entries[name], context.problems)
            ):
                item.secrets[name] = secret


def _forgotten(item: Item, texts: dict[str, str]) -> list[str]:
    """The stored parts of which nothing is written."""
    if item.existing is None or not item.existing.secret:
        return []
    try:
        unseal(item.existing.secret)
    except CredentialsLost:
        return ["lost"]
    return [
        part for part in stored_parts(item.existing.secret) if not any(name in texts for name in PARTS[part])
    ]
