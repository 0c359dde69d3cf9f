from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils.timezone import now

from observatory.alerts.models import Channel, Delivery, Silence
from observatory.alerts.notifying.delivery import deliver_to
from observatory.alerts.secrets import decrypt
from tests.alerts.notifying.conftest import Fire, fire, make_channel, rule, webhook, world
from tests.alerts.notifying.receivers import Receiver
from tests.alerts.notifying.test_delivery import at
from tests.support.projects import World

__all__ = ["at", "fire", "rule", "webhook", "world"]

ADD = "/admin/alerts/channel/add/"
LIST = "/admin/alerts/channel/"
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#chan"


@pytest.fixture
def superuser(world: World) -> Client:
    return world.client("superuser")


@pytest.fixture
def owner(world: World) -> Client:
    """Of the project Alpha, staff, with all permissions on alerts."""
    person = world.people["owner"]
    person.is_staff = True
    person.save()
    person.user_permissions.set(Permission.objects.filter(content_type__app_label="alerts"))
    return world.client("owner")


def form(**fields: Any) -> dict[str, Any]:
    return {
        "name": "team",
        "kind": "webhook",
        "address": "https://hooks.example.org/T0K3N",
        "enabled": "on",
        "minimum_severity": "warning",
        "messages_an_hour": 60,
        "repeat_hours": 0,
        **fields,
    }


def errors(response: Any) -> dict[str, list[str]]:
    return {name: list(texts) for name, texts in response.context["adminform"].form.errors.items()}


def test_an_address_is_stored_encrypted_and_never_shown(superuser: Client) -> None:
    response = superuser.post(ADD, form(kind="apprise", address=SLACK), follow=True)
    channel = Channel.objects.get()
    assert decrypt(channel.secret) == SLACK
    assert "TIiajkdnlazkcOXrIdevi7FQ" not in channel.secret
    page = superuser.get(f"/admin/alerts/channel/{channel.pk}/change/")
    assert "slack://… " in page.text
    for shown in (response, page, superuser.get(LIST)):
        assert "TIiajkdnlazkcOXrIdevi7FQ" not in shown.text
        assert channel.secret not in shown.text

    superuser.post(
        f"/admin/alerts/channel/{channel.pk}/change/", form(kind="apprise", address="", name="other")
    )
    channel.refresh_from_db()
    assert (channel.name, decrypt(channel.secret)) == ("other", SLACK)


@pytest.mark.parametrize(
    ("kind", "address", "words"),
    [
        ("apprise", "", "Enter an address"),
        ("apprise", "team@example.org", "has no scheme"),
        ("apprise", "slak://a/b/c", "Apprise doesn't know “slak://”"),
        ("apprise", "json://example.org?method=GET", "The parameter “method” isn't supported"),
        ("apprise", "json://example.org?+X-Token=1", "The parameter “+X-Token” isn't supported"),
        ("apprise", "mailto://u:p@example.org?pgpkey=/etc/x", "The parameter “pgpkey” isn't"),
        (
            "apprise",
            "workflows://a.org/flow/signature?template=/etc/passwd",
            "The parameter “template” isn't",
        ),
        ("apprise", f"{SLACK}?template=/etc/passwd", "The parameter “template” isn't supported"),
        ("apprise", "syslog://", "isn't supported"),
        ("apprise", "xml://127.0.0.1:6379", "isn't supported"),
        ("apprise", "slack://a", "This address of Slack is incomplete. It looks like slack://{token_a}"),
        ("apprise", "https://example.org/hook", "If it is a webhook, choose that kind"),
        ("webhook", SLACK, "Only http:// and https://"),
        ("webhook", "example.org", "starts with http:// or https://"),
        ("webhook", "https://", "has no host"),
        ("webhook", "https://example.org:port/", "This is no address"),
        ("alertmanager", "http://a b/", "has no host"),
        ("webhook", "https://example.org/" + "x" * 2000, "2000 characters"),
    ],
)
def test_an_invalid_address_is_rejected_with_the_reason(
    superuser: Client, kind: str, address: str, words: str
) -> None:
    found = errors(superuser.post(ADD, form(kind=kind, address=address)))
    assert words in found["address"][0]
    assert not Channel.objects.exists()


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("webhook", "http://127.0.0.1:9/hook"),
        ("webhook", "http://169.254.169.254/latest"),
        ("alertmanager", "http://localhost:9093"),
        ("alertmanager", "http://[64:ff9b::7f00:1]:9093"),
        ("apprise", "json://127.0.0.1:9"),
    ],
)
def test_an_address_that_nothing_is_sent_to_is_not_saved_and_the_setting_is_named(
    superuser: Client, settings: Any, kind: str, address: str
) -> None:
    settings.LOCAL_CHANNELS = False
    found = errors(superuser.post(ADD, form(kind=kind, address=address)))
    assert "The setting OBSERVATORY_LOCAL_CHANNELS allows" in found["address"][0]
    assert not Channel.objects.exists()


@pytest.mark.parametrize("entered", ["http://am:9093", "http://am:9093/", "http://am:9093/api/v2/alerts"])
def test_any_form_of_an_alertmanagers_address_is_accepted(superuser: Client, entered: str) -> None:
    superuser.post(ADD, form(kind="alertmanager", address=entered))
    assert decrypt(Channel.objects.get().secret) == "http://am:9093"


def test_changing_the_kind_requires_a_new_address(superuser: Client) -> None:
    channel = make_channel("team", "https://example.org", kind="webhook")
    response = superuser.post(f"/admin/alerts/channel/{channel.pk}/change/", form(kind="apprise", address=""))
    assert errors(response) == {"address": ["The kind was changed: enter an address of the new kind."]}


def test_a_changed_secret_key_requires_the_address_again(superuser: Client, settings: Any) -> None:
    channel = make_channel("team", "https://example.org", kind="webhook")
    page = f"/admin/alerts/channel/{channel.pk}/change/"
    Channel.objects.update(secret="gAAAA-of-another-key")
    assert "Enter the address again" in superuser.get(page).text
    assert "Enter the address again" in errors(superuser.post(page, form(address="")))["address"][0]
    superuser.post(page, form())
    channel.refresh_from_db()
    assert decrypt(channel.secret) == "https://hooks.example.org/T0K3N"


def test_a_test_is_sent_at_once_and_its_result_is_shown(superuser: Client, webhook: Receiver) -> None:
    test = {"alerts_channel_send_a_test": "1"}
    response = superuser.post(ADD, form(address=f"{webhook.url}/T0K3N", **test), follow=True)
    assert "A test was sent to “team”" in response.text
    assert webhook.bodies[0]["alerts"][0]["annotations"]["summary"].startswith("Test of the channel “team”")
    assert "page" not in webhook.bodies[0]["alerts"][0]["annotations"], "a path leads nowhere"
    assert webhook.bodies[0]["alerts"][0]["generatorURL"] == ""
    assert not Delivery.objects.exists()

    webhook.answers = [(403, "T0K3N is wrong")]
    page = f"/admin/alerts/channel/{Channel.objects.get().pk}/change/"
    response = superuser.post(page, form(address="", **test), follow=True)
    assert "Sending the test failed. It answered 403 Forbidden." in response.text
    assert "is wrong" not in response.text


def test_owners_edit_only_channels_of_their_projects(owner: Client, world: World) -> None:
    make_channel("of all")
    make_channel("of both").projects.add(world.alpha, world.beta)
    theirs = make_channel("of alpha", "https://example.org", kind="webhook")
    theirs.projects.add(world.alpha)
    listed = owner.get(LIST).text
    assert [name in listed for name in ("of all", "of both", "of alpha")] == [False, False, True]

    assert "projects" in errors(owner.post(ADD, form()))
    assert "projects" in errors(owner.post(ADD, form(projects=[world.beta.pk])))
    owner.post(ADD, form(projects=[world.alpha.pk]))
    made = Channel.objects.get(name="team")
    assert (list(made.projects.all()), made.created_by) == ([world.alpha], world.people["owner"])

    other = Channel.objects.get(name="of both")
    assert owner.get(f"/admin/alerts/channel/{other.pk}/change/").status_code == 302


def test_deliveries_are_read_only_and_failed_ones_can_be_retried(
    superuser: Client, owner: Client, webhook: Receiver, fire: Fire, world: World, at: Any
) -> None:
    channel = make_channel("team", f"{webhook.url}/T0K3N", kind="webhook")
    fire(message="<script>alert(1)</script>")
    Delivery.objects.update(state="failed", attempts=20, last_error="It answered 500: no")
    url = "/admin/alerts/delivery/"
    listed = superuser.get(url).text
    assert "It answered 500: no" in listed
    assert "<script>alert(1)" not in listed
    assert "T0K3N" not in listed
    delivery = Delivery.objects.get()
    page = superuser.get(f"{url}{delivery.pk}/change/")
    assert page.status_code == 200
    assert "_save" not in page.text
    assert superuser.post(f"{url}{delivery.pk}/change/", {"state": "sent"}).status_code == 403
    assert "It answered 500" not in owner.get(url).text

    action = {"action": "retry", "_selected_action": [delivery.pk]}
    assert "Retrying: 1." in superuser.post(url, action, follow=True).text
    deliver_to(channel.pk, at)
    assert len(webhook.bodies) == 1


def test_the_list_of_deliveries_says_why_one_waits(superuser: Client, webhook: Receiver, fire: Fire) -> None:
    make_channel("team", f"{webhook.url}/hook", kind="webhook")
    fire()
    until = now() + timedelta(hours=1)
    Silence.objects.create(matchers='cluster=~".*"', expires=until, comment="moving racks")
    listed = superuser.get("/admin/alerts/delivery/").text
    assert "Waits because" in listed
    assert "silence “moving racks” suppresses the alert" in listed
