"""Channels reach this machine only where a setting says so, and metadata services never."""

from __future__ import annotations

import socket
from datetime import datetime
from typing import Any

import pytest
from django.conf import LazySettings

from observatory.alerts.models import Delivery
from observatory.alerts.notifying.channels.apprise import CHANNEL, plain_text
from observatory.alerts.notifying.delivery import deliver_to
from tests.alerts.notifying.conftest import Fire, make_channel
from tests.alerts.notifying.receivers import receiving
from tests.alerts.notifying.test_delivery import at

__all__ = ["at"]

REFUSED = "Its host is this machine, a link-local address or a cloud's metadata service."


def attempt(fire: Fire, at: datetime, kind: str, address: str) -> str:
    """Sends an alert to the address; returns the error."""
    channel = make_channel(address=address, kind=kind)
    fire()
    deliver_to(channel.pk, at)
    return Delivery.objects.get().last_error


@pytest.mark.parametrize("kind", ["apprise", "webhook", "alertmanager"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_nothing_is_sent_to_this_machine_by_default(
    kind: str, host: str, fire: Fire, at: datetime, settings: LazySettings
) -> None:
    settings.LOCAL_CHANNELS = False
    with receiving({}) as receiver:
        port = receiver.url.rpartition(":")[2]
        scheme = "json" if kind == "apprise" else "http"
        assert attempt(fire, at, kind, f"{scheme}://{host}:{port}").startswith(REFUSED)
    assert not receiver.bodies


@pytest.mark.parametrize("kind", ["apprise", "webhook", "alertmanager"])
@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "100.100.100.200"])
def test_metadata_services_are_never_requested(
    kind: str, host: str, fire: Fire, at: datetime, settings: LazySettings
) -> None:
    settings.LOCAL_CHANNELS = True
    scheme = "json" if kind == "apprise" else "http"
    assert attempt(fire, at, kind, f"{scheme}://{host}/latest/meta-data").startswith(REFUSED)


@pytest.mark.parametrize("kind", ["apprise", "webhook"])
def test_a_name_that_leads_to_a_metadata_service_is_refused(
    kind: str, fire: Fire, at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo

    def poisoned(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        return look_up("169.254.169.254" if host == "alerts.example.org" else host, port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", poisoned)
    scheme = "json" if kind == "apprise" else "http"
    assert attempt(fire, at, kind, f"{scheme}://alerts.example.org/").startswith(REFUSED)


def test_the_mail_server_in_a_parameter_is_checked(fire: Fire, at: datetime, settings: LazySettings) -> None:
    settings.LOCAL_CHANNELS = False
    error = attempt(fire, at, "apprise", "mailto://u:p@example.org?smtp=127.0.0.1&to=a@example.org")
    assert error.startswith(REFUSED)


@pytest.mark.parametrize(
    "address",
    [
        "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        "https://prod-00.westus.logic.azure.com:443/workflows/643e69f83c8944438d68119179a10a64/triggers/manual"
        "/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=abcdefghijklmnopqrstuvwxyz",
        "https://chat.googleapis.com/v1/spaces/AAAAAAAAAAA/messages?key=abcdefg-hijk&token=abcdef",
        "mailto://user:password@smtp.example.org:587?mode=starttls&from=o@example.org&to=team@example.org",
        "pagerduty://integration-key@api-key",
    ],
)
def test_addresses_as_services_show_them_are_accepted(address: str) -> None:
    assert CHANNEL.clean_address(address) == address


def test_a_stored_address_with_a_refused_parameter_is_not_used(fire: Fire, at: datetime) -> None:
    with receiving({}) as receiver:
        address = f"{receiver.url.replace('http', 'json')}/?method=DELETE"
        assert "isn't supported. Enter it again" in attempt(fire, at, "apprise", address)
    assert not receiver.bodies


def test_what_the_receiver_says_is_not_stored(fire: Fire, at: datetime) -> None:
    with receiving({}) as receiver:
        receiver.answers = [(403, "the-secret-of-another")]
        assert attempt(fire, at, "webhook", receiver.url) == "It answered 403 Forbidden."


@pytest.mark.parametrize(
    "text", ["@everyone", "<!channel>", "<@U123>", "<https://evil.example|click>", "@here"]
)
def test_texts_mention_nobody(text: str) -> None:
    for is_markdown in (False, True):
        shown = plain_text(f"lost {text}", is_markdown)
        assert text not in shown
        assert "\u200b" in shown or "\\<" in shown


def test_markdown_of_texts_is_escaped_but_addresses_are_left() -> None:
    text = "[click](https://evil.example) **now** `x`\nhttps://observatory.example.org/a_b_c?from=1"
    first, link = plain_text(text, True).split("\n")
    assert first.startswith("\\[click\\](https://evil.example) \\*\\*now\\*\\* \\`x\\`")
    assert link == "https://observatory.example.org/a_b_c?from=1"
    assert plain_text(text, False) == text
