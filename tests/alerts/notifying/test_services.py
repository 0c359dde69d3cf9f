"""What Apprise speaks, to a real SMTP server and a real HTTP server."""

from __future__ import annotations

import io
import logging
import socket
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from observatory.alerts.models import Delivery
from observatory.alerts.notifying.delivery import deliver_to
from tests.alerts.notifying.conftest import Fire, Resolve, make_channel
from tests.alerts.notifying.receivers import MailBox, Receiver, receiving, taking_mail
from tests.alerts.notifying.test_delivery import at

__all__ = ["at"]

HOSTILE = "<img src=x onerror=alert(1)> & co"


@pytest.fixture
def mail() -> Iterator[tuple[MailBox, str]]:
    """A mail box, and the address of a channel to it."""
    with taking_mail() as (box, port):
        yield box, f"mailto://127.0.0.1:{port}?from=observatory@example.org&to=team@example.org"


def test_a_mail_has_the_alert_its_cluster_and_the_advice(
    mail: tuple[MailBox, str], fire: Fire, at: datetime, settings: Any
) -> None:
    settings.PUBLIC_URL = "https://observatory.example.org"
    box, address = mail
    channel = make_channel(address=address)
    alert = fire(message=HOSTILE, labels={"worker": HOSTILE})
    deliver_to(channel.pk, at)

    assert Delivery.objects.get().last_error == ""
    [notified] = box.mails
    assert (notified["To"], notified["Subject"]) == ("team@example.org", f"critical: {HOSTILE} · morning")
    link = f"https://observatory.example.org/clusters/{alert.cluster_id}/?from="
    page = f"https://observatory.example.org/alerts/{alert.pk}/"

    body = notified.get_body(["plain"])
    assert body is not None
    plain = body.get_content()
    for text in (HOSTILE, "Rule “Worker lost”", "Since 5 May 2026, 12:02:00 UTC", "Look at its", link, page):
        assert text in plain

    body = notified.get_body(["html"])
    assert body is not None
    html = body.get_content()
    assert "<img" not in html
    assert "&lt;img src=x onerror=alert(1)&gt; &amp; co" in html
    assert f'href="{link}' in html
    assert f'href="{page}' in html


def test_without_a_public_url_a_mail_has_no_links(
    mail: tuple[MailBox, str], fire: Fire, at: datetime, settings: Any
) -> None:
    settings.PUBLIC_URL = ""
    box, address = mail
    channel = make_channel(address=address)
    for _ in range(30):
        fire()
    deliver_to(channel.pk, at)
    for kind in ("plain", "html"):
        body = box.mails[0].get_body([kind])
        assert body is not None
        content = body.get_content()
        assert "more" in content
        assert "/alerts/" not in content
        assert "/clusters/" not in content
        assert "href" not in content


def test_a_mail_about_many_alerts_lists_firing_and_resolved_ones(
    mail: tuple[MailBox, str], fire: Fire, resolve: Resolve, at: datetime
) -> None:
    box, address = mail
    channel = make_channel(address=address)
    over = fire()
    deliver_to(channel.pk, at)
    resolve(over)
    for _ in range(60):
        fire()
    deliver_to(channel.pk, at)

    second = box.mails[1]
    assert second["Subject"] == "Alerts: 60 firing, 1 resolved · morning"
    body = second.get_body(["plain"])
    assert body is not None
    assert "And 41 more" in body.get_content()
    assert not Delivery.objects.exclude(state="sent").exists()


def test_a_refused_mail_is_retried(mail: tuple[MailBox, str], fire: Fire, at: datetime) -> None:
    box, address = mail
    box.refuses = True
    channel = make_channel(address=address)
    fire()
    deliver_to(channel.pk, at)
    delivery = Delivery.objects.get()
    assert delivery.state == "due"
    assert delivery.last_error.startswith("E-Mail: ")
    box.refuses = False
    deliver_to(channel.pk, delivery.due)
    assert len(box.mails) == 1


def test_a_chat_message_is_plain_text(fire: Fire, resolve: Resolve, at: datetime) -> None:
    with receiving({}) as receiver:
        channel = make_channel(address=receiver.url.replace("http", "json"))
        alert = fire(message=HOSTILE)
        deliver_to(channel.pk, at)
        resolve(alert)
        deliver_to(channel.pk, at)
    fired, over = receiver.bodies
    assert (fired["title"], fired["type"]) == (f"critical: {HOSTILE} · morning", "failure")
    assert fired["message"].splitlines()[0] == "Since 5 May 2026, 12:02:00 UTC"
    assert "What to do: Look at its last words." in fired["message"]
    assert (over["title"], over["type"]) == (f"Resolved: critical: {HOSTILE} · morning", "success")
    assert "until 5 May 2026, 12:03:00 UTC" in over["message"]


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged where everything is."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    level = logging.root.level
    logging.root.addHandler(handler)
    logging.root.setLevel(logging.DEBUG)
    yield log
    logging.root.removeHandler(handler)
    logging.root.setLevel(level)


@pytest.mark.parametrize("kind", ["apprise", "webhook", "alertmanager"])
@pytest.mark.parametrize("fault", ["it echoes", "it is away", "it has no such name"])
def test_no_error_and_no_log_contains_the_address(
    kind: str, fault: str, fire: Fire, at: datetime, log: io.StringIO
) -> None:
    scheme = "json" if kind == "apprise" else "http"
    with receiving({}) as receiver:
        host = receiver.url.removeprefix("http://")
        if fault == "it is away":
            host = f"127.0.0.1:{free_port()}"
        elif fault == "it has no such name":
            host = "T0K3N-host.invalid"
        receiver.answers = [(403, "no user us%65r with T0K3N-pass at /T0K3N-path")]
        channel = make_channel(
            address=f"{scheme}://user:T0K3N-pass@{host}/T0K3N-path?x=T0K3N-query", kind=kind
        )
        fire()
        deliver_to(channel.pk, at)
    delivery = Delivery.objects.get()
    assert delivery.state == "due"
    assert len(delivery.last_error) > 20
    assert "failed (attempt 1)" in log.getvalue()
    assert "T0K3N" not in delivery.last_error + channel.secret + log.getvalue()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_channel_with_a_lost_key_asks_for_the_address_again(
    webhook: Receiver, fire: Fire, at: datetime, settings: Any
) -> None:
    channel = make_channel(address=webhook.url, kind="webhook")
    fire()
    settings.SECRET_KEY = "another"
    deliver_to(channel.pk, at)
    assert "Enter the address again" in Delivery.objects.get().last_error
