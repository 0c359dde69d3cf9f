from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils.timezone import now

from observatory.alerts.models import MaintenanceWindow, Silence
from tests.alerts.admin.test_channels import errors, owner, superuser
from tests.alerts.notifying.conftest import Fire, fire, rule, world
from tests.support.projects import HOSTILE, World

__all__ = ["fire", "owner", "rule", "superuser", "world"]

SILENCES = "/admin/alerts/silence/"
MAINTENANCE = "/admin/alerts/maintenancewindow/"
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def moment(name: str, time: datetime) -> dict[str, str]:
    return {f"{name}_0": f"{time:%Y-%m-%d}", f"{name}_1": f"{time:%H:%M:%S}"}


def silence(start: timedelta = -HOUR, stop: timedelta = HOUR, **fields: Any) -> dict[str, Any]:
    times = moment("starts", now() + start) | moment("expires", now() + stop)
    return {"matchers": 'rule="Worker lost"', "comment": "we know", **times, **fields}


def test_a_silence_shows_the_alerts_that_it_matches(superuser: Client, fire: Fire, world: World) -> None:
    fire(message=HOSTILE)
    fire(message="elsewhere", cluster=world.elsewhere)
    fire(message="over", state="resolved")
    fields = silence(matchers='rule="Worker lost", project="alpha"')
    response = superuser.post(f"{SILENCES}add/", fields, follow=True)
    assert "The silence matches 1 alert now." in response.text
    made = Silence.objects.get()
    assert made.created_by == world.people["superuser"]
    page = superuser.get(f"{SILENCES}{made.pk}/change/").text
    assert HOSTILE not in page
    assert "&lt;img src=x" in page
    assert "elsewhere" not in page


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"matchers": "Worker lost"}, "matchers", "Write labels as name="),
        ({"matchers": 'rule=~"("'}, "matchers", "isn't a valid regular expression"),
        ({"matchers": ""}, "matchers", "required"),
        ({"matchers": 'severity!="info"'}, "matchers", "silence every alert"),
        ({"matchers": "{}"}, "matchers", "silence every alert"),
        ({"stop": -HOUR / 2}, "expires", "in the past"),
        ({"start": 3 * HOUR, "stop": 2 * HOUR}, "expires", "after its start"),
        ({"comment": ""}, "comment", "required"),
    ],
)
def test_an_invalid_silence_is_rejected(
    superuser: Client, fields: dict[str, Any], field: str, words: str
) -> None:
    found = errors(superuser.post(f"{SILENCES}add/", silence(**fields)))
    assert words in found[field][0]


def test_expire_now_ends_a_silence(superuser: Client) -> None:
    made = Silence.objects.create(matchers='rule="x"', starts=now() - HOUR, expires=now() + HOUR, comment="x")
    assert "active" in superuser.get(SILENCES).text
    action = {"action": "expire_now", "_selected_action": [made.pk]}
    assert "Expired: 1." in superuser.post(SILENCES, action, follow=True).text
    made.refresh_from_db()
    assert made.expires <= now()
    # its comment can be changed after it
    times = moment("starts", made.starts) | moment("expires", made.expires)
    page = f"{SILENCES}{made.pk}/change/"
    assert superuser.post(page, silence(comment="it was y") | times).status_code == 302


def maintenance(hours: float = 3, **fields: Any) -> dict[str, Any]:
    start = datetime(2026, 3, 2, 22)
    times = moment("starts", start) | moment("stops", start + timedelta(hours=hours))
    return {"name": "upgrade", "repeat": "weekly", **times, **fields}


def test_maintenance_shows_its_current_or_next_window(superuser: Client) -> None:
    superuser.post(f"{MAINTENANCE}add/", maintenance())
    window = MaintenanceWindow.objects.get()
    at, pages = now(), (MAINTENANCE, f"{MAINTENANCE}{window.pk}/change/")
    for start, words in ((at - 15 * DAY, f"{at + 6 * DAY:%A}, "), (at - 14 * DAY - HOUR, "now, until ")):
        MaintenanceWindow.objects.update(starts=start, stops=start + 3 * HOUR)
        for page in pages:
            assert words in superuser.get(page).text
    MaintenanceWindow.objects.update(repeat="never")
    assert "over" in superuser.get(MAINTENANCE).text


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"hours": 0}, "stops", "after its start"),
        ({"hours": -1}, "stops", "after its start"),
        ({"hours": 24, "repeat": "daily"}, "repeat", "after which it repeats"),
        ({"hours": 169}, "repeat", "after which it repeats"),
    ],
)
def test_an_invalid_maintenance_window_is_rejected(
    superuser: Client, fields: dict[str, Any], field: str, words: str
) -> None:
    found = errors(superuser.post(f"{MAINTENANCE}add/", maintenance(**fields)))
    assert words in found[field][0]


def test_owners_silence_only_their_projects(owner: Client, world: World) -> None:
    assert "projects" in errors(owner.post(f"{SILENCES}add/", silence()))
    assert "projects" in errors(owner.post(f"{MAINTENANCE}add/", maintenance(projects=[world.beta.pk])))
    owner.post(f"{SILENCES}add/", silence(projects=[world.alpha.pk]))
    owner.post(f"{MAINTENANCE}add/", maintenance(projects=[world.alpha.pk], targets=[world.target.pk]))
    assert list(Silence.objects.get().projects.all()) == [world.alpha]
    assert list(MaintenanceWindow.objects.get().targets.all()) == [world.target]


def test_staff_who_own_no_project_edit_silences_by_the_permission(world: World) -> None:
    editor = world.people["editor"]
    editor.is_staff = True
    editor.save()
    client, sent = world.client("editor"), silence(projects=[world.alpha.pk])
    assert client.post(f"{SILENCES}add/", sent).status_code == 403
    editor.user_permissions.add(Permission.objects.get(codename="add_silence"))
    assert "projects" in errors(client.post(f"{SILENCES}add/", sent))
