"""The pages of alerts, and what other pages show of them."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils.timezone import now

from observatory.alerts.models import Alert, Channel, Rule, Silence
from observatory.clusters.accounts.models import Membership
from tests.support.projects import HOSTILE, World, make_run
from tests.support.recorded_cluster import GIB, Recorded, at
from tests.support.stored_alerts import make_alert, make_rule
from tests.why.findings.simulated import Simulated, Task, futures


def text_of(client: Client, path: str) -> str:
    """What a page says, without its tags."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    body = answer.content.decode()
    body = body[body.index("<main") :] if "<main" in body else body
    return without_tags(body)


def without_tags(markup: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", markup).split()))


def flag_of(client: Client, path: str) -> str:
    """The flag in the header of a page."""
    page = client.get(path).content.decode()
    found = re.search(r'id="alert-flag"[^>]*>(.*?)<button', page, re.DOTALL)
    assert found is not None
    return without_tags(found[1])


@pytest.fixture
def alert(world: World) -> Alert:
    return make_alert(world.live, severity="critical", message="97 % of 4 GiB", labels={"worker": "w-1"})


def test_every_page_shows_the_number_of_visible_firing_alerts(world: World, alert: Alert) -> None:
    make_alert(world.ended, "worker lost", severity="info")
    make_alert(world.ended, "pending", fired=None)
    make_alert(world.elsewhere, "secret of beta")
    viewer = world.client("viewer")
    for path in ("/clusters/", "/runs/", "/targets/", "/alerts/", "/account/password/"):
        assert flag_of(viewer, path) == "⚑ 2 alerts", path
    assert flag_of(world.client("outsider"), "/runs/") == "⚑ 1 alert"
    assert flag_of(world.client("nobody"), "/runs/") == "⚑ Alerts"


def test_the_pages_of_a_cluster_show_its_own_firing_alerts_first(world: World, alert: Alert) -> None:
    viewer = world.client("viewer")
    here, there = f"/clusters/{world.live.pk}/", f"/clusters/{world.ended.pk}/logs/"
    assert flag_of(viewer, here) == "⚑ 1 alert"
    assert flag_of(viewer, there) == "⚑ 1 elsewhere"
    make_alert(world.ended, "worker lost")
    assert flag_of(viewer, here) == "⚑ 1 alert here 1 elsewhere"
    page = viewer.get(here).content.decode()
    assert f'<a class="critical" href="/alerts/?cluster={world.live.pk}">' in page
    assert '<a class="warning" href="/alerts/">' in page


def test_the_flag_is_loaded_separately_and_cached(world: World, alert: Alert) -> None:
    viewer = world.client("viewer")
    path = f"/alerts/flag/?cluster={world.live.pk}"
    reported = viewer.get(path)
    assert without_tags(reported.content.decode()) == "⚑ 1 alert"
    known = {"If-None-Match": reported.headers["ETag"]}
    assert viewer.get(path, headers=known).status_code == 304
    Alert.objects.update(state="resolved", resolved=now())
    assert without_tags(viewer.get(path, headers=known).content.decode()) == "⚑ Alerts"
    for odd in ("x", "-1", "99999999999", "²"):
        assert viewer.get(f"/alerts/flag/?cluster={odd}").status_code == 200


def test_the_list_shows_firing_alerts_advice_and_assignee(world: World, alert: Alert) -> None:
    make_alert(world.live, "worker lost", 10, 10, 40)
    make_alert(world.live, "idle", fired=None)
    viewer = world.client("viewer")
    page = text_of(viewer, "/alerts/")
    for words in (
        "memory pressure 97 % of 4 GiB",
        "What to do what memory pressure means what to do about memory pressure",
        "critical morning Alpha · w-1",
        "firing for",
    ):
        assert words in page
    assert "lost" not in page.split("Filter")[1]
    pending = text_of(viewer, "/alerts/?state=pending").split("Filter")[1]
    assert "idle" in pending
    assert "pending for" in pending
    assert "worker lost" in text_of(viewer, "/alerts/?state=resolved").split("Filter")[1]
    everything = text_of(viewer, "/alerts/?state=all").split("Filter")[1]
    assert all(rule in everything for rule in ("memory pressure", "worker lost", "idle"))
    link = re.search(
        rf'href="(/clusters/{world.live.pk}/\?from=[^"]*)"', viewer.get("/alerts/").content.decode()
    )
    assert link is not None
    assert f"at={world.live.started.timestamp() + 70:.6f}" in link[1]


def test_the_list_is_filtered_sorted_and_paged(world: World) -> None:
    for number in range(60):
        make_alert(world.live, "worker lost", number, number, number + 100, labels={"worker": f"w{number}"})
    make_alert(world.live, "old", 0, 0, 1, severity="critical")
    viewer = world.client("viewer")
    first = viewer.get("/alerts/?state=resolved&rule=worker+lost").content.decode()
    assert first.count("data-alert=") == 50
    assert "1–50 of 60" in first
    assert (
        viewer.get("/alerts/?state=resolved&rule=worker+lost&page=2").content.decode().count("data-alert=")
        == 10
    )
    worst = viewer.get("/alerts/?state=resolved&order=-severity").content.decode()
    assert re.findall(r'class="severity (\w+)"', worst)[0] == "critical"
    assert "No alert matches" in viewer.get("/alerts/?state=resolved&text=w7+w8").content.decode()
    assert "Enter a date and time" in unescape(viewer.get("/alerts/?since=soon").content.decode())


def test_the_empty_list_shows_the_number_of_rules_and_clusters(world: World) -> None:
    viewer = world.client("viewer")
    Rule.objects.all().delete()
    assert "No rules are enabled" in text_of(viewer, "/alerts/")
    make_rule("memory pressure")
    make_rule("worker lost")
    Rule.objects.create(name="off", enabled=False)
    page = text_of(viewer, "/alerts/")
    assert "No firing alerts 2 rules watch 1 live cluster of yours" in page


def test_the_list_leads_those_who_may_edit_them_to_the_rules(world: World, alert: Alert) -> None:
    link = '<a class="button" href="/admin/alerts/rule/">Rules</a>'
    assert link in world.client("superuser").get("/alerts/").content.decode()
    assert link not in world.client("viewer").get("/alerts/").content.decode()


def test_without_alerts_the_list_leads_to_what_makes_some(world: World) -> None:
    make_rule("worker lost")
    assert "See what the rules watch for" in text_of(world.client("superuser"), "/alerts/")
    assert "Observe a cluster" not in text_of(world.client("superuser"), "/alerts/")
    assert "See what the rules" not in text_of(world.client("viewer"), "/alerts/")
    assert "Observe a cluster" in text_of(world.client("nobody"), "/alerts/")


def test_the_page_of_an_alert_shows_history_meaning_and_notifications(world: World, alert: Alert) -> None:
    slack = Channel.objects.create(name="Slack #ops", secret="x")
    mail = Channel.objects.create(name="mail", secret="x")
    alert.deliveries.create(channel=slack, change="firing", state="sent", sent=now())
    alert.deliveries.create(
        channel=mail, change="firing", state="failed", attempts=5, last_error="550 no such mailbox"
    )
    page = text_of(world.client("viewer"), f"/alerts/{alert.pk}/")
    for words in (
        "condition became true",
        "fired, after 10.0 s, at 0.93",
        "what memory pressure means",
        "what to do about memory pressure",
        "Slack #ops , firing: sent",
        "mail , firing: failed after 5 attempts 550 no such mailbox",
    ):
        assert words in page, page
    assert "Silence" not in page, "a viewer can't"


def test_the_page_draws_the_history_of_the_condition(recorded: Recorded, world: World) -> None:
    """Two workers' memory is 1, 2, and at last 3 GiB; the rule is about more than 2.5 GiB of each."""
    world.ended.started, world.ended.ended = at(-100), at(100)
    world.ended.save()
    ids = [
        recorded.worker(
            f"tcp://10.0.0.{number}:1", name, None, {second: second // 15 for second in range(15, 60)}
        )
        for number, name in enumerate(("w-1", "w-2"))
    ]
    alert = make_alert(
        world.ended,
        "memory above 2.5 GiB",
        45,
        50,
        60,
        at(0),
        worker_id=ids[1],
        labels={"worker": "w-2"},
        severity="critical",
    )
    path = f"/alerts/{alert.pk}/history/"
    assert "<svg" not in world.client("viewer").get(path).content.decode(), "the rule has no condition"
    condition = alert.rule.conditions.create(
        metric="observatory_worker_memory_bytes", labels='type="process"', threshold=2.5 * GIB
    )
    chart = world.client("viewer").get(path).content.decode()
    assert "From 1 GiB to 3 GiB; the threshold is 2.5 GiB" in chart
    assert re.search(r'<path d="M[^"]*V[^"]*V[^"]*"', chart), "three steps"
    assert 'class="fires critical"' in chart
    condition.labels = "no labels"
    condition.save()
    assert world.client("viewer").get(path).status_code == 200


def test_the_page_loads_what_was_found_around_the_alert(world: World) -> None:
    cluster = Simulated([*futures(60, 0.5), Task("work-60", 9)]).record()
    Membership.objects.create(project=cluster.project, user=world.people["viewer"])
    alert = make_alert(cluster, "slow task", 5, 6, 20, at(0))
    viewer = world.client("viewer")
    path = f"/alerts/{alert.pk}/findings/"
    assert f'data-loads="{path}"' in viewer.get(f"/alerts/{alert.pk}/").content.decode()
    found = viewer.get(path).content.decode()
    assert 'data-finding="stragglers"' in found
    assert "1 task of work took 9.00 s" in found
    assert re.search(rf'href="/clusters/{cluster.pk}/\?from=[\d.]+&amp;to=[\d.]+&amp;tab=why"', found)
    quiet = viewer.get(f"/alerts/{make_alert(world.live).pk}/findings/").content.decode()
    assert "Nothing stands out around this alert; without the agent, most causes can't be told." in quiet


def test_acknowledging_from_the_list_returns_to_the_list(world: World, alert: Alert) -> None:
    editor = world.client("editor")
    path = f"/alerts/{alert.pk}/acknowledge/"
    answer = editor.post(path, {"note": "restarting it", "back": "/alerts/?severity=critical"})
    assert answer.headers["Location"] == "/alerts/?severity=critical"
    page = text_of(editor, "/alerts/")
    assert "editor restarting it" in page
    assert editor.post(path, {"back": "https://evil.example/"}).headers["Location"] == f"/alerts/{alert.pk}/"
    assert world.client("viewer").post(path).status_code == 403


def test_silencing_shows_errors_at_their_fields(world: World, alert: Alert) -> None:
    editor = world.client("editor")
    path = f"/alerts/{alert.pk}/silence/"
    refused = editor.post(path, {"lasts": "until", "of": "alert", "comment": "why"})
    assert refused.status_code == 422
    assert "Enter a time." in refused.content.decode()
    assert editor.post(path, {"lasts": "1d", "of": "alert", "comment": "moving data"}).status_code == 302
    silence = Silence.objects.get()
    assert silence.expires - silence.starts == timedelta(days=1)
    assert "suppressed: silence “moving data”" in text_of(editor, "/alerts/")
    assert "Suppressed now : silence “moving data”." in text_of(editor, f"/alerts/{alert.pk}/")
    assert world.client("viewer").post(path, {"lasts": "1h", "comment": "x"}).status_code == 403


def test_lists_show_at_most_three_flags(world: World, alert: Alert) -> None:
    for number, rule in enumerate(("worker lost", "disk usage", "spilling")):
        make_alert(world.live, rule, number, number, number + 10, severity="info")
    make_run(world.live, "quiet", 30, 1)
    viewer = world.client("viewer")
    for path in ("/clusters/", "/runs/", f"/clusters/{world.live.pk}/runs/"):
        page = viewer.get(path).content.decode()
        assert page.count('class="flag critical is-firing"') >= 1, path
        assert 'title="worker lost"' in page, f"{path}: the fourth is in the title of …"
        assert 'href="?alert=memory+pressure"' in page or "alert=memory%20pressure" in page, path
    runs = viewer.get("/runs/?alert=disk+usage").content.decode()
    assert "nightly of alpha" in runs
    assert "quiet" not in runs
    assert "morning" in viewer.get("/clusters/?alert=disk+usage").content.decode()
    assert "evening" not in viewer.get("/clusters/?alert=disk+usage").content.decode()


def test_hostile_texts_are_escaped_on_every_page(world: World) -> None:
    alert = make_alert(
        world.live,
        HOSTILE,
        message=HOSTILE,
        labels={HOSTILE: HOSTILE, "worker": HOSTILE},
        acknowledgement=HOSTILE,
    )
    Alert.objects.update(acknowledged=now())
    owner = world.client("owner")
    for path in ("/alerts/", f"/alerts/{alert.pk}/", "/clusters/", "/runs/", f"/clusters/{world.live.pk}/"):
        assert "<img src=x" not in owner.get(path).content.decode(), path
    assert HOSTILE in text_of(owner, f"/alerts/{alert.pk}/")


def flood(world: World, count: int = 146) -> list[Alert]:
    """As many firing alerts of one rule on one cluster, and one critical alert that began before them."""
    make_alert(world.ended, "scheduler gone", 0, 1, severity="critical")
    return [
        make_alert(world.live, "worker lost", number, number, labels={"worker": f"w{number}"})
        for number in range(count)
    ]


def test_a_flood_of_open_alerts_is_a_row_by_rule_and_cluster_with_the_critical_first(world: World) -> None:
    flood(world)
    viewer = world.client("viewer")
    page = text_of(viewer, "/alerts/").split("Filter")[1]
    assert viewer.get("/alerts/").content.decode().count("data-alert=") == 2
    assert page.index("scheduler gone") < page.index("worker lost 146 alerts")
    assert "w145" in page
    assert "and 143 others" in page
    each = viewer.get("/alerts/?each=1").content.decode()
    assert each.count("data-alert=") == 50
    assert "1–50 of 147" in each
    assert "Group by rule and cluster" in each
    resolved = viewer.get("/alerts/?state=all").content.decode()
    assert resolved.count("data-alert=") == 50, "the past is not grouped"


def test_a_group_has_only_what_matches_the_filter(world: World) -> None:
    flood(world, 20)
    page = text_of(world.client("viewer"), "/alerts/?text=w1").split("Filter")[1]
    assert "worker lost 11 alerts" in page
    assert "scheduler gone" not in page


def test_a_flood_is_acknowledged_at_once(world: World) -> None:
    alerts = flood(world, 20)
    pending = make_alert(world.live, "idle", fired=None)
    editor = world.client("editor")
    group = f"{alerts[0].rule_id}-{world.live.pk}"
    assert f'value="{group}"' in editor.get("/alerts/").content.decode()
    path, back = "/alerts/answer/", "/alerts/?severity=warning"
    sent = {"action": "acknowledge", "alert": [group, str(pending.pk)], "note": "the rack lost power"}
    answer = editor.post(path, {**sent, "back": back}, follow=True)
    assert answer.redirect_chain == [(back, 302)]
    assert "21 alerts are acknowledged." in answer.content.decode()
    assert "all acknowledged" in answer.content.decode()
    assert Alert.objects.filter(acknowledgement="the rack lost power").count() == 21
    assert not Alert.objects.get(rule__name="scheduler gone").acknowledged


def test_a_flood_is_silenced_at_once(world: World) -> None:
    alerts = flood(world, 20)
    critical = Alert.objects.get(rule__name="scheduler gone")
    editor = world.client("editor")
    sent = {"action": "silence", "alert": [f"{alerts[0].rule_id}-{world.live.pk}", str(critical.pk)]}
    refused = editor.post("/alerts/answer/", {**sent, "lasts": "1h"}, follow=True).content.decode()
    assert "Nothing is silenced. Write a note" in refused
    assert not Silence.objects.exists()
    done = editor.post("/alerts/answer/", {**sent, "lasts": "1h", "note": "moving racks"}, follow=True)
    assert "2 silences were made, until" in done.content.decode()
    assert sorted(Silence.objects.values_list("matchers", flat=True)) == [
        'cluster="evening", rule="scheduler gone"',
        'cluster="morning", rule="worker lost"',
    ]
    assert text_of(editor, "/alerts/").count("suppressed: silence “moving racks”") == 2


def test_bulk_actions_refuse_what_cannot_be_and_who_may_not(world: World) -> None:
    alerts = flood(world, 2)
    group = f"{alerts[0].rule_id}-{world.live.pk}"
    hidden = make_alert(world.elsewhere, "secret of beta")
    editor = world.client("editor")

    def answer(**sent: object) -> str:
        return editor.post("/alerts/answer/", sent, follow=True).content.decode()

    for nothing in (
        "",
        "x",
        "1-",
        "-",
        "99999999999",
        f"{hidden.pk}",
        f"{hidden.rule_id}-{hidden.cluster_id}",
    ):
        assert "Select some open alerts first." in answer(action="acknowledge", alert=nothing), nothing
    assert "Choose an action" in answer(action="delete", alert=group)
    assert "Nothing is silenced." in answer(action="silence", alert=group, lasts="for ever", note="why")
    assert editor.post("/alerts/answer/", {"back": "https://evil.example/"}).headers["Location"] == "/alerts/"
    viewer = world.client("viewer")
    assert viewer.post("/alerts/answer/", {"action": "acknowledge", "alert": group}).status_code == 403
    assert 'id="bulk"' not in viewer.get("/alerts/").content.decode()
    assert not Alert.objects.exclude(acknowledged=None).exists()
