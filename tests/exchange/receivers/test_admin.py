"""Receivers of runs in the admin: by whom, with which addresses, and that secrets are never shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from observatory.clusters.models import Project
from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers.receiver_kind import Address
from observatory.exchange.receivers.secrets import decrypt, encrypt
from observatory.runs.models import Run
from observatory.runtime.health.checks import receivers
from tests.exchange.receivers.conftest import Deliver
from tests.exchange.receivers.http_receiver import HttpReceiver
from tests.support.projects import World

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/exchange/receiver/"
ADD = f"{LIST}add/"
RUNS = "/admin/exchange/rundelivery/"


@pytest.fixture
def superuser(world: World) -> Client:
    return world.client("superuser")


def form(**fields: Any) -> dict[str, Any]:
    return {
        "name": "collector",
        "kind": "otlp",
        "address": "https://collector.example.org:4318/v1/traces",
        "headers": "Authorization: Bearer s3cr3t-t0k3n\nX-Scope-OrgID: team a",
        "enabled": "on",
        "most_tasks": 10_000,
        "sends_logs": "on",
        **fields,
    }


def errors(response: Any) -> dict[str, list[str]]:
    return {name: list(texts) for name, texts in response.context["adminform"].form.errors.items()}


def test_address_and_headers_are_stored_encrypted_and_never_shown(superuser: Client) -> None:
    response = superuser.post(ADD, form(), follow=True)
    receiver = Receiver.objects.get()
    headers = {"Authorization": "Bearer s3cr3t-t0k3n", "X-Scope-OrgID": "team a"}
    assert decrypt(receiver.secret) == Address("https://collector.example.org:4318", headers)
    assert "s3cr3t" not in receiver.secret
    assert "s3cr3t" not in repr(decrypt(receiver.secret))
    page = superuser.get(f"{LIST}{receiver.pk}/change/")
    assert "https://… " in page.text
    for shown in (response, page, superuser.get(LIST)):
        assert "s3cr3t" not in shown.text
        assert "collector.example.org:4318" not in shown.text.replace(
            "https://collector.example.org:4318;", ""
        )

    superuser.post(f"{LIST}{receiver.pk}/change/", form(name="other", address="", headers=""))
    receiver.refresh_from_db()
    assert (receiver.name, decrypt(receiver.secret).headers) == ("other", headers)
    superuser.post(f"{LIST}{receiver.pk}/change/", form(address="", headers="X-Key: new"))
    receiver.refresh_from_db()
    assert decrypt(receiver.secret) == Address("https://collector.example.org:4318", {"X-Key": "new"})


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"address": ""}, "address", "Enter an address"),
        ({"address": "collector:4318"}, "address", "starts with http:// or https://"),
        ({"address": "https://"}, "address", "has no host"),
        ({"address": "https://a.org/\x07"}, "address", "single line"),
        ({"address": "http://169.254.169.254/"}, "address", "metadata service"),
        ({"kind": "sentry", "address": "https://sentry.example.org/7"}, "address", "This is no DSN"),
        ({"kind": "sentry", "address": "https://k@sentry.example.org/x"}, "address", "This is no DSN"),
        ({"kind": "sentry", "address": "http://k@169.254.169.254/7"}, "address", "metadata service"),
        ({"headers": "no colon"}, "headers", "one header a line"),
        ({"headers": "X Y: 1"}, "headers", "one header a line"),
        ({"headers": "Host: a"}, "headers", "The header Host can't be set"),
        ({"headers": "content-encoding: br"}, "headers", "can't be set"),
        ({"headers": "X-Key: ü"}, "headers", "printable ASCII"),
        ({"headers": "X-Key: " + "x" * 4_001}, "headers", "printable ASCII"),
        ({"headers": "\n".join(f"X-{number}: 1" for number in range(11))}, "headers", "at most 10 headers"),
        ({"most_tasks": 5_000_000}, "most_tasks", "less than or equal to 100000"),
    ],
)
def test_what_cannot_be_used_is_rejected_with_the_reason(
    superuser: Client, fields: dict[str, Any], field: str, words: str
) -> None:
    assert words in errors(superuser.post(ADD, form(**fields)))[field][0]
    assert not Receiver.objects.exists()


def test_this_machine_is_refused_unless_a_setting_allows_it(
    superuser: Client, settings: LazySettings
) -> None:
    settings.LOCAL_CHANNELS = False
    for kind, address in (("otlp", "http://localhost:4318"), ("sentry", "http://key@[::1]:9000/7")):
        found = errors(superuser.post(ADD, form(kind=kind, address=address)))
        assert "The setting OBSERVATORY_LOCAL_CHANNELS allows" in found["address"][0]


def test_another_kind_needs_an_address_of_its_own(superuser: Client) -> None:
    superuser.post(ADD, form())
    receiver = Receiver.objects.get()
    response = superuser.post(f"{LIST}{receiver.pk}/change/", form(kind="sentry", address=""))
    assert "The kind was changed" in errors(response)["address"][0]


def test_a_test_is_sent_from_the_form(superuser: Client, endpoint: HttpReceiver) -> None:
    button = {"exchange_receiver_send_a_test": ""}
    page = superuser.post(ADD, form(address=endpoint.url, **button), follow=True)
    assert "A test was sent to “collector”." in page.text
    ((_, span),) = endpoint.spans
    assert span.name == "test of a receiver"
    dsn = endpoint.url.replace("//", "//key@") + "/7"
    page = superuser.post(ADD, form(name="errors", kind="sentry", address=dsn, **button), follow=True)
    assert [event["message"] for event in endpoint.events] == ["Test of a receiver of runs: it works."]
    page = superuser.post(ADD, form(name="away", address="http://127.0.0.1:1", **button), follow=True)
    assert "Sending the test failed. It can&#x27;t be reached: Connection refused." in page.text


def test_owners_set_receivers_of_their_own_projects_alone(world: World, superuser: Client) -> None:
    owner, secret = world.client("owner"), encrypt(Address("https://collector.example.org"))
    of_all = Receiver.objects.create(name="of all", secret=secret)
    of_beta = Receiver.objects.create(name="of beta", secret=secret)
    of_beta.projects.set([world.beta])
    assert "projects" in errors(owner.post(ADD, form()))
    assert "projects" in errors(owner.post(ADD, form(projects=[world.beta.pk])))
    owner.post(ADD, form(projects=[world.alpha.pk]))
    own = Receiver.objects.get(name="collector")
    assert list(own.projects.all()) == [world.alpha]
    listed = owner.get(LIST).text
    assert "collector" in listed
    assert "of beta" not in listed
    assert "of all" not in listed
    for other in (of_all, of_beta):
        assert owner.get(f"{LIST}{other.pk}/change/").status_code == 302
    for role in ("viewer", "editor", "outsider", "anonymous"):
        assert own.name not in world.client(role).get(LIST, follow=True).text.partition("<main")[2]


def test_owners_see_the_runs_that_were_sent_to_their_receivers_and_send_them_again(
    world: World, receiver: Receiver, endpoint: HttpReceiver, deliver: Deliver, run: Run
) -> None:
    receiver.projects.set([world.alpha])
    delivery = deliver(run)
    owner = world.client("owner")
    page = owner.get(RUNS).text
    assert "All 4 tasks with " in page
    assert owner.get(f"{RUNS}add/").status_code == 403
    owner.post(RUNS, {"action": "send_again", "_selected_action": [delivery.pk]})
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("due", 0)
    receiver.projects.set([world.alpha, world.beta])
    assert "nightly etl" not in owner.get(RUNS).text


def test_a_receiver_goes_with_its_only_project(world: World) -> None:
    secret = encrypt(Address("https://collector.example.org"))
    project = Project.objects.create(name="Gone", slug="gone")
    alone, shared = (Receiver.objects.create(name=name, secret=secret) for name in ("alone", "shared"))
    alone.projects.set([project])
    shared.projects.set([project, world.alpha])
    project.delete()
    assert [receiver.name for receiver in Receiver.objects.all()] == ["shared"]
    assert list(shared.projects.all()) == [world.alpha]


def test_failing_receivers_are_listed_by_doctor(receiver: Receiver, run: Run) -> None:
    assert list(receivers()) == []
    RunDelivery.objects.create(receiver=receiver, run=run, attempts=2, last_error="It answered 503.")
    (found,) = receivers()
    assert (found.component, found.ok, found.text) == ("receiver collector", False, "It answered 503.")
