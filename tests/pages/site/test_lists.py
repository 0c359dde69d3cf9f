from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Cluster, Target
from tests.support.projects import HOSTILE, World, make_cluster, store_extent


def page(world: World, role: str, path: str) -> str:
    answer = world.client(role).get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_clusters_show_when_how_long_how_many_tasks_workers_and_errors(world: World) -> None:
    store_extent(world.ended, tasks=1_234_567, errors=8, workers=12)
    [row] = re.findall(r"<tr>.*?evening.*?</tr>", page(world, "viewer", "/clusters/?state=ended"), re.DOTALL)
    for shown in ("Alpha", "analysis", "2026-05-06 12:00:00", "2 h", "1,234,567", ">12<", ">8<"):
        assert shown in row
    assert f'href="/clusters/{world.ended.pk}/"' in row
    assert "live" not in row
    assert 'class="badge live"' in page(world, "viewer", "/clusters/")


def test_a_live_cluster_that_is_not_heard_says_when_it_was_last(world: World) -> None:
    def shown() -> bool:
        return "last heard" in page(world, "viewer", "/clusters/")

    heard = Cluster.objects.filter(pk=world.live.pk)
    heard.update(agent_heard=timezone.now())
    assert not shown()
    heard.update(agent_heard=timezone.now() - timedelta(hours=5))
    text = page(world, "viewer", "/clusters/")
    assert 'class="badge live">live</span> <span class="badge silent">last heard 5 h ago<' in text
    heard.update(ended=timezone.now())
    assert not shown()


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", {"morning", "evening"}),
        ("?state=live", {"morning"}),
        ("?state=ended", {"evening"}),
        ("?state=errors", {"evening"}),
        ("?search=Scheduler-2", {"evening"}),
        ("?search=analysis", {"morning", "evening"}),
        ("?search=nothing-like-it", set()),
        ("?state=nonsense", {"morning", "evening"}),
        ("?project=alpha", {"morning", "evening"}),
    ],
)
def test_clusters_are_filtered_and_searched(world: World, query: str, names: set[str]) -> None:
    store_extent(world.ended, errors=1)
    shown = page(world, "viewer", f"/clusters/{query}")
    assert {name for name in ("morning", "evening") if f">{name}</a>" in shown} == names


def test_a_nul_in_a_url_is_refused_everywhere(world: World) -> None:
    client = world.client("superuser")
    for path in (
        "/clusters/?search=%00",
        "/targets/?project=a%00",
        "/api/v1/clusters?search=%00",
        "/admin/?a=%00",
        "/r/%00",
        "/api/v1/r/%00/state",
        "/projects/%00/",
    ):
        assert client.get(path).status_code == 400, path
    new = {"project": "a\0", "url": "http://127.0.0.1:1"}
    assert client.post("/api/v1/targets", new, content_type="application/json").status_code == 422


def test_clusters_come_in_pages_that_keep_the_search(world: World) -> None:
    for number in range(10, 63):
        make_cluster(world.alpha, number, name="many")
    first = page(world, "viewer", "/clusters/?search=many")
    assert first.count(">many</a>") == 50
    assert "1–50 of 53" in first
    [link] = re.findall(r'rel="next" href="([^"]*)"', first)
    second = page(world, "viewer", "/clusters/" + link.replace("&amp;", "&"))
    assert second.count(">many</a>") == 3
    assert page(world, "viewer", "/clusters/?page=nonsense").count("<tr>") == 51


def test_when_nothing_matches_the_page_says_so_and_leads_back(world: World) -> None:
    shown = page(world, "viewer", "/clusters/?search=zzz&state=live")
    assert "that is live that matches “zzz”" in shown
    assert "Show all clusters" in shown


def test_before_the_first_cluster_the_page_says_what_is_waited_for(world: World) -> None:
    Cluster.objects.all().delete()
    Target.objects.update(last_error="nobody listens there")
    shown = page(world, "viewer", "/clusters/")
    assert "http://10.1.2.3:8787" in shown
    assert "nobody listens there" in shown


def test_before_the_first_target_the_page_says_the_three_ways_to_add_one(world: World) -> None:
    Cluster.objects.all().delete()
    Target.objects.all().delete()
    for path in ("/clusters/", "/targets/"):
        shown = page(world, "editor", path)
        assert "dask-observatory watch" in shown
        assert "POST /api/v1/targets" in shown
        assert 'href="/targets/#add"' in shown
        assert "ask a project" in page(world, "viewer", path)


def test_the_newest_cluster_of_a_name_has_an_address(world: World) -> None:
    newest = make_cluster(world.alpha, 9, name="morning")
    for role, name, landed in (
        ("viewer", "morning", f"/clusters/{newest.pk}/"),
        ("viewer", "secret of beta", "/clusters/"),
        ("outsider", "morning", "/clusters/"),
    ):
        answer = world.client(role).get("/clusters/newest/", {"name": name})
        assert answer.headers["Location"] == landed


def test_one_in_no_project_is_told_whom_to_ask(world: World) -> None:
    assert "Your user name is <strong>nobody</strong>" in page(world, "nobody", "/projects/")


@pytest.mark.parametrize(
    ("changes", "word", "sentence"),
    [
        ({"enabled": False}, "paused", "until it is enabled"),
        ({"lease_expires": None}, "waiting", "Waiting for a collector"),
        ({"lease_expires": timezone.now() - timedelta(minutes=1)}, "waiting", "Waiting for a collector"),
        ({"last_error": "nobody listens <there>"}, "unreachable", "nobody listens &lt;there&gt;"),
        ({"stream": "stolen"}, "stolen", "perhaps a second Observatory"),
        ({"stream": "yielded"}, "yielded", "left to that one for an hour"),
        ({"stream": "contested"}, "contested", "it was taken back"),
        ({"stream": "closed"}, "silent", "event stream is not there"),
        ({"stream": "receiving"}, "receiving", "arrive"),
    ],
)
def test_a_target_shows_what_it_is_doing(
    world: World, changes: dict[str, object], word: str, sentence: str
) -> None:
    held = {"lease_expires": timezone.now() + timedelta(minutes=1)}
    Target.objects.update(**{**held, **changes})
    shown = page(world, "viewer", "/targets/")
    assert f'class="badge {word}"' in shown
    assert sentence in shown


def test_refused_series_are_shown(world: World) -> None:
    Target.objects.update(series_count=50_000, series_refused=7)
    assert "7 refused, limit 100,000" in page(world, "viewer", "/targets/")


def test_hostile_names_are_escaped_on_every_page(world: World) -> None:
    Target.objects.update(name=HOSTILE, last_error=HOSTILE, lease_expires=timezone.now() + timedelta(hours=1))
    Cluster.objects.update(name=HOSTILE, end_reason=f'"{HOSTILE}', address=HOSTILE)
    world.alpha.name = HOSTILE
    world.alpha.save()
    User.objects.filter(username="viewer").update(username=HOSTILE)
    admin = "/admin/clusters"
    for path in (
        "/clusters/",
        f"/clusters/?search={HOSTILE}",
        f"/clusters/?search=zzz{HOSTILE}&state=live",
        f"/clusters/{world.live.pk}/",
        "/targets/",
        f"/targets/{world.target.pk}/",
        f"/targets/{world.target.pk}/remove/",
        "/projects/",
        "/projects/alpha/",
        f"{admin}/cluster/",
        f"{admin}/cluster/{world.ended.pk}/change/",
        f"{admin}/target/",
        f"{admin}/target/{world.target.pk}/change/",
        f"{admin}/project/{world.alpha.pk}/change/",
    ):
        shown = page(world, "superuser", path)
        assert "<img src=x" not in shown, path
        assert "&lt;img src=x" in shown, path


def test_an_owner_sets_retention_what_ends_a_run_and_members(world: World) -> None:
    client = world.client("owner")
    settings = {"name": "Alpha", "retention_days": 7, "run_idle_seconds": 90}
    assert client.post("/projects/alpha/", settings).status_code == 302
    world.alpha.refresh_from_db()
    assert (world.alpha.retention_days, world.alpha.run_idle_seconds) == (7, 90)
    assert client.post("/projects/alpha/", {**settings, "retention_days": 0}).status_code == 422
    assert client.post("/projects/alpha/", {**settings, "run_idle_seconds": 0}).status_code == 422
    client.post("/projects/alpha/members/", {"username": "nobody", "role": "viewer"})
    assert "Alpha" in page(world, "nobody", "/projects/")
    member = Membership.objects.get(user=world.people["nobody"])
    client.post(f"/projects/alpha/members/{member.pk}/", {"role": "editor"})
    member.refresh_from_db()
    assert member.role == "editor"
    client.post(f"/projects/alpha/members/{member.pk}/", {"role": "king"})
    member.refresh_from_db()
    assert member.role == "editor"
    client.post(f"/projects/alpha/members/{member.pk}/", {"role": ""})
    assert not Membership.objects.filter(pk=member.pk).exists()


@pytest.mark.parametrize(
    ("name", "reason"), [("zzz", "No active user has this name"), ("viewer", "This user is already a member")]
)
def test_who_cannot_be_added_is_told_at_the_field(world: World, name: str, reason: str) -> None:
    answer = world.client("owner").post("/projects/alpha/members/", {"username": name, "role": "viewer"})
    assert answer.status_code == 422
    assert reason in answer.content.decode()


def test_the_last_owner_stays(world: World) -> None:
    member = Membership.objects.get(user=world.people["owner"])
    for role in ("", "viewer"):
        answer = world.client("owner").post(
            f"/projects/alpha/members/{member.pk}/", {"role": role}, follow=True
        )
        assert "A project needs an owner" in answer.content.decode()
    member.refresh_from_db()
    assert member.role == "owner"


def test_a_membership_of_another_project_cannot_be_changed_through_ones_own(world: World) -> None:
    member = Membership.objects.get(user=world.people["outsider"])
    answer = world.client("owner").post(f"/projects/alpha/members/{member.pk}/", {"role": ""})
    assert answer.status_code == 404
    assert Membership.objects.filter(pk=member.pk).exists()


def test_what_is_not_there_has_a_page_that_tells_no_urls(client: Client, world: World) -> None:
    answer = world.client("viewer").get("/no/such/page/")
    assert answer.status_code == 404
    assert b"No page has this address" in answer.content
    assert b"sign-in/once" not in answer.content
