"""A kind of channel is one module in notifying/channels."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from observatory.alerts.admin.channel_form import ChannelForm
from observatory.alerts.models import Delivery
from observatory.alerts.notifying import channels
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.notifying.delivery import deliver_to
from tests.alerts.notifying.conftest import Fire
from tests.alerts.notifying.test_delivery import at
from tests.support.projects import World

__all__ = ["at"]

FAX = """
from django.core.exceptions import ValidationError

from observatory.alerts.notifying.channel_kind import ChannelKind

SENT = []


class Fax(ChannelKind):
    name = "Fax"
    label = "a fax machine"
    examples = "fax://5551234"

    def clean_address(self, text):
        if not text.startswith("fax://"):
            raise ValidationError("Enter a number.")
        return text

    def host_of(self, address):
        return None

    def send(self, address, message, at):
        SENT.append((address, message.title))


CHANNEL = Fax()
"""


@pytest.fixture
def fax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "fax.py").write_text(FAX)
    monkeypatch.setattr(channels, "__path__", [*channels.__path__, str(tmp_path)])
    channel_kinds.cache_clear()
    yield channel_kinds()["fax"]
    channel_kinds.cache_clear()


def fields(**changed: Any) -> dict[str, Any]:
    usual = {"name": "machine", "enabled": True, "minimum_severity": "info", "messages_an_hour": 5}
    return {**usual, "repeat_hours": 0, "kind": "fax", "address": "fax://5551234", **changed}


def test_a_module_adds_a_kind_to_forms_address_checks_and_sending(
    fax: Any, fire: Fire, at: datetime, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChannelForm, "user", world.people["superuser"], raising=False)
    assert "fax://5551234" in str(ChannelForm().fields["address"].help_text)
    assert ("fax", "a fax machine") in list(ChannelForm().fields["kind"].choices)  # type: ignore[attr-defined]
    assert ChannelForm(fields(address="555")).errors == {"address": ["Enter a number."]}
    form = ChannelForm(fields())
    assert not form.errors
    channel = form.save()
    fire()
    deliver_to(channel.pk, at)
    assert Delivery.objects.get().state == "sent"
    [(address, title)] = import_module(type(fax).__module__).SENT
    assert address == "fax://5551234"
    assert title.startswith("critical: ")


@pytest.mark.parametrize("kind", channel_kinds().values(), ids=channel_kinds())
def test_the_example_of_a_kind_is_a_valid_address(kind: Any) -> None:
    for address in kind.examples.split(", "):
        assert kind.clean_address(address)
