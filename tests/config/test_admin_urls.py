"""Every URL of the admin, as people of every role: a URL that isn't described here fails."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth.models import Group
from django.db.models import Model

from observatory.clusters.accounts.models import GroupRole
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.models import Discovery
from observatory.clusters.tokens.models import AccessToken, IngestToken
from observatory.exchange.models import Receiver, RunDelivery
from tests.alerts.setup import Setup, Setups, set_up_alerts
from tests.pages.site.test_who_may_open_what import every_route
from tests.support.projects import World, world

__all__ = ["world"]

MEMBERS = ("nobody", "editor")
USUAL = {"": 200, "add/": 200, "change/": 200, "delete/": 200, "history/": 200}
DELETED_ELSEWHERE = USUAL | {"delete/": 302}
"""on a page of its own, after a preview"""
READ_ONLY = USUAL | {"add/": 403, "delete/": 403}
SITE = {
    "": 200,
    "search/": 200,
    "logout/": 405,
    "password_change/": 200,
    "password_change/done/": 200,
    "autocomplete/": 403,
    "jsi18n/": 200,
}
"""by page of no model: what whoever has the admin gets"""
ALERTS = {
    "rule": DELETED_ELSEWHERE
    | {
        "metrics/": 200,
        "recent/": 405,
        "places/": 200,
        "back-test/": 405,
        "back-test-progress/": 200,
        "reset/": 405,
    }
    | {"import/": 200, "export/": 200},
    "channel": DELETED_ELSEWHERE,
    "delivery": READ_ONLY,
    "silence": USUAL,
    "maintenancewindow": USUAL,
}
RECEIVERS = {"receiver": USUAL, "rundelivery": READ_ONLY}
"""by model and page: what owners of the project and superusers get"""
OTHERS = {
    "user": DELETED_ELSEWHERE | {"password/": 200},
    "group": USUAL,
    "accessattempt": USUAL | {"add/": 403},
    "accesslog": USUAL | {"add/": 403},
    "accessfailurelog": USUAL | {"add/": 403},
    "project": DELETED_ELSEWHERE,
    "grouprole": USUAL,
    "ingesttoken": READ_ONLY | {"add/": 200},
    "accesstoken": READ_ONLY,
    "cluster": DELETED_ELSEWHERE | {"add/": 403},
    "deletion": READ_ONLY,
    "target": USUAL,
    "discovery": USUAL,
}
"""by model and page of what owners have no part in: what superusers get"""
APPS = ("auth", "axes", "clusters", "alerts", "exchange")
OF_OWNERS = ("", "alerts", "exchange")
MODEL_PAGE = rf"admin/({'|'.join(APPS)})/(\w+)/(<[^>]*>/)?([\w-]*/?)"
OF_OBJECT = {"change/", "delete/", "history/", "reset/", "password/"}


@pytest.fixture
def setups(world: World) -> Setups:
    return set_up_alerts(world)


@pytest.fixture
def ids(world: World, setups: Setups) -> dict[str, int]:
    """By model the id of something of Alpha, or of nobody."""
    attempt = {"username": "eve", "ip_address": "10.0.0.9", "user_agent": "-", "http_accept": "-"}
    attempt |= {"path_info": "/"}
    made = {
        "user": world.people["viewer"],
        "group": Group.objects.create(name="people"),
        "accessattempt": AccessAttempt.objects.create(**attempt, failures_since_start=1),
        "accesslog": AccessLog.objects.create(**attempt),
        "accessfailurelog": AccessFailureLog.objects.create(**attempt),
        "project": world.alpha,
        "grouprole": GroupRole.objects.create(project=world.alpha, group="group"),
        "ingesttoken": IngestToken.objects.create(project=world.alpha, name="t", digest="1"),
        "accesstoken": AccessToken.objects.create(user=world.people["viewer"], name="t", digest="1"),
        "cluster": world.ended,
        "target": world.target,
        "deletion": Deletion.objects.create(kind="rule", subject=99_999),
        "discovery": Discovery.objects.create(project=world.alpha, name="d", kind="http_sd"),
        **of(setups.alpha),
        **receiver_of(world),
    }
    return {model: item.pk for model, item in made.items()}


def receiver_of(world: World) -> dict[str, Model]:
    receiver = Receiver.objects.create(name="receiver of Alpha", secret="no secret")
    receiver.projects.set([world.alpha])
    return {"receiver": receiver, "rundelivery": RunDelivery.objects.create(receiver=receiver, run=world.run)}


def of(setup: Setup) -> dict[str, object]:
    return {
        "rule": setup.rule,
        "channel": setup.channel,
        "delivery": setup.delivery,
        "silence": setup.silence,
        "maintenancewindow": setup.window,
    }


def admin_urls(ids: dict[str, int]) -> Iterator[tuple[str, str, str, str]]:
    """(path, app, model, page) of each; "" for the pages of no model. Raises KeyError for a new model."""
    for route in set(every_route()):
        if not route.startswith("admin/") or route in ("admin/login/", "admin/(?P<url>.*)"):
            continue
        if "(?P<app_label>" in route:
            yield from ((f"/admin/{app}/", app, "", "") for app in APPS)
        elif found := re.fullmatch(MODEL_PAGE, route):
            app, model, has_id, page = found.groups()
            place = f"{ids[model]}/" if has_id else ""
            page = "<id>/" if has_id and not page else page
            yield f"/admin/{app}/{model}/{place}{page.removeprefix('<id>/')}", app, model, page
        else:
            yield f"/{route}", "", "", route.removeprefix("admin/")


def of_superuser(app: str, model: str, page: str) -> int:
    if not model:
        return SITE[page]
    return 302 if page == "<id>/" else (ALERTS | RECEIVERS | OTHERS)[model][page]


def of_owner(app: str, model: str, page: str) -> int:
    if page == "password/":
        return 403
    return of_superuser(app, model, page) if app in OF_OWNERS else 404 if not model else 302


def of_other_owner(app: str, model: str, page: str) -> int:
    """What is there for no owner, there is for no owner of another project."""
    status = of_owner(app, model, page)
    return 302 if page in OF_OBJECT and status == 200 else status


def of_staff(app: str, model: str, page: str) -> int:
    """Without permissions."""
    if not model:
        return SITE[page] if not app else 404
    if page == "<id>/" or (page == "history/" and model in SCOPED):
        return 302
    return 403


def of_member(app: str, model: str, page: str) -> int:
    return 200 if page == "password_change/" else 302


SCOPED = {*ALERTS, *RECEIVERS, "project", "grouprole", "ingesttoken", "cluster", "target", "discovery"}
"""models that one sees by one's role in projects"""
EXPECTED = {
    "superuser": of_superuser,
    "owner": of_owner,
    "outsider": of_other_owner,
    "staff": of_staff,
    **dict.fromkeys(MEMBERS, of_member),
    "anonymous": lambda app, model, page: 302,
}


def test_each_role_gets_what_is_described_of_every_url_of_the_admin(
    world: World, ids: dict[str, int]
) -> None:
    urls = sorted(admin_urls(ids))
    assert len(urls) > 100
    got = {(path, role): world.client(role).get(path).status_code for path, *_ in urls for role in EXPECTED}
    wanted = {(path, role): EXPECTED[role](*what) for path, *what in urls for role in EXPECTED}
    assert {place: (got[place], wanted[place]) for place in got if got[place] != wanted[place]} == {}


def test_who_has_no_admin_is_told_whose_it_is(world: World) -> None:
    for role in MEMBERS:
        answer = world.client(role).get("/admin/", follow=True)
        assert answer.status_code == 403
        assert "The admin is for owners of a project, and for staff." in answer.content.decode()


def test_no_page_of_an_owner_has_anything_of_other_projects(
    world: World, setups: Setups, ids: dict[str, int]
) -> None:
    foreign = {
        "owner": ("beta", "everywhere", "of both"),
        "outsider": ("alpha", "everywhere", "of both", "viewer", "analysis", "morning", "nightly"),
    }
    for path, _, model, _ in sorted(admin_urls(ids)):
        for role, words in foreign.items():
            shown = world.client(role).get(f"{path}?q=of", follow=True).content.decode().lower()
            for word in words:
                # rules that apply to a project can be chosen for its channels
                is_choice = model == "channel" and word in ("everywhere", "of both")
                assert is_choice or word not in shown, f"{role}: {path} shows {word}"
            if model == "rule" and path.endswith("/rule/"):
                assert f"rule of {'alpha' if role == 'owner' else 'beta'}" in shown


def test_an_owner_sees_no_list_but_those_of_alerts_and_receivers(world: World, setups: Setups) -> None:
    index = world.client("owner").get("/admin/")
    links = set(re.findall(r'href="/admin/(\w+/\w+)/', index.content.decode()))
    assert links == {f"alerts/{model}" for model in ALERTS} | {f"exchange/{model}" for model in RECEIVERS}
    found = world.client("owner").get("/admin/search/?s=e&extended=1").content.decode()
    assert set(re.findall(r'href="/admin/(\w+/\w+)/', found)) <= links


def test_the_index_says_what_owners_do_there(world: World) -> None:
    owner, superuser = (world.client(role).get("/admin/").content.decode() for role in ("owner", "superuser"))
    assert 'Alerts of <a href="/projects/alpha/">Alpha</a>' in owner
    assert "You own this project, and set up its alerts here." in owner
    assert "You own" not in superuser


def test_the_search_of_the_admin_has_only_the_pages_that_it_has(world: World) -> None:
    client = world.client("owner")
    assert client.get("/admin/search/?s=r&page=1").status_code == 200
    for page in ("x", "0", "99", "-1", "1e9", "9" * 5000):
        assert client.get(f"/admin/search/?s=r&page={page}").status_code == 404, page
