"""The REST API of alerts, and those of a timeline."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from observatory.alerts.models import Alert, Silence
from observatory.alerts.silences.matchers import parse_matchers
from observatory.alerts.silences.suppression import Suppressions
from observatory.runs.models import Permalink
from observatory.runs.sharing.links import make_link
from tests.support.projects import HOSTILE, World, make_run
from tests.support.stored_alerts import make_alert


@pytest.fixture
def alert(world: World) -> Alert:
    """Fires in the live cluster; its labels hold hostile text."""
    return make_alert(
        world.live, labels={"worker": HOSTILE, "type": 'a"b\\c'}, message="high", severity="critical"
    )


def send(world: World, role: str, path: str, **body: Any) -> Any:
    return world.client(role).post(f"/api/v1/alerts/{path}", body, content_type="application/json")


def test_alerts_are_paged_with_description_and_advice(world: World, alert: Alert) -> None:
    make_alert(world.ended, "worker lost", 10, 10, 60)
    make_alert(world.elsewhere, "secret of beta")
    viewer = world.client("viewer")
    page = viewer.get("/api/v1/alerts?page_size=1&order=-severity").json()
    assert (page["count"], page["pages"], page["page"]) == (2, 2, 1)
    [item] = page["items"]
    assert item == viewer.get(f"/api/v1/alerts/{alert.pk}").json()
    notified = {
        name: item[name] for name in ("rule", "severity", "state", "project", "cluster_name", "message")
    }
    assert notified == {
        "rule": "memory pressure",
        "severity": "critical",
        "state": "firing",
        "project": "alpha",
        "cluster_name": "morning",
        "message": "high",
    }
    assert item["labels"] == {"worker": HOSTILE, "type": 'a"b\\c'}
    assert item["fired"] == world.live.started.timestamp() + 70
    assert (item["description"], item["advice"]) == (
        "what memory pressure means",
        "what to do about memory pressure",
    )
    assert [item["rule"] for item in viewer.get("/api/v1/alerts?state=resolved").json()["items"]] == [
        "worker lost"
    ]


@pytest.mark.parametrize(
    ("query", "field"), [("since=1e300", "since"), ("until=-5", "until"), ("state=burning", None)]
)
def test_an_invalid_filter_is_rejected(world: World, query: str, field: str | None) -> None:
    answer = world.client("viewer").get(f"/api/v1/alerts?{query}")
    assert answer.status_code == 422
    assert field is None or list(answer.json()["errors"]) == [field]


def test_editors_acknowledge_and_viewers_cannot(world: World, alert: Alert) -> None:
    assert send(world, "viewer", f"{alert.pk}/acknowledge", note="mine").status_code == 403
    assert send(world, "outsider", f"{alert.pk}/acknowledge").status_code == 404
    notified = send(world, "editor", f"{alert.pk}/acknowledge", note=HOSTILE).json()
    assert (notified["acknowledged_by"], notified["acknowledgement"]) == ("editor", HOSTILE)
    alert.refresh_from_db()
    assert alert.acknowledged is not None
    assert send(world, "editor", f"{alert.pk}/acknowledge", note="x" * 1001).status_code == 422


@pytest.mark.parametrize(
    ("of", "names"),
    [
        ("alert", {"rule", "cluster", "worker", "type"}),
        ("cluster", {"rule", "cluster"}),
        ("project", {"rule"}),
    ],
)
def test_silencing_an_alert_creates_a_silence_for_its_project(
    world: World, alert: Alert, of: str, names: set[str]
) -> None:
    answer = send(world, "editor", f"{alert.pk}/silence", lasts="4h", of=of, comment="moving data")
    assert answer.status_code == 201
    silence = Silence.objects.get()
    assert silence.expires - silence.starts == timedelta(hours=4)
    assert (silence.comment, silence.created_by) == ("moving data", world.people["editor"])
    assert list(silence.projects.all()) == [world.alpha]
    assert {matcher.label for matcher in parse_matchers(silence.matchers)} == names
    suppressions = Suppressions(now())
    assert suppressions.reason(alert) == "silence “moving data”"
    assert not suppressions.reason(make_alert(world.live, "another rule"))
    assert not suppressions.reason(make_alert(world.elsewhere, alert.rule.name, labels=alert.labels))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"comment": ""}, "comment"),
        ({"lasts": "until"}, "until"),
        ({"lasts": "until", "until": "2001-01-01T00:00:00Z"}, "until"),
        ({"lasts": "until", "until": "2999-01-01T00:00:00Z"}, "until"),
        ({"lasts": "until", "until": "tomorrow"}, "until"),
    ],
)
def test_an_invalid_silence_is_rejected_with_errors_at_its_fields(
    world: World, alert: Alert, body: dict[str, Any], field: str
) -> None:
    answer = send(world, "editor", f"{alert.pk}/silence", **{"comment": "why", **body})
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == [field]
    assert not Silence.objects.exists()


def test_a_silence_can_last_until_a_given_time(world: World, alert: Alert) -> None:
    until = now().replace(microsecond=0) + timedelta(hours=30)
    sent = {"lasts": "until", "until": until.isoformat(), "comment": "why"}
    assert send(world, "editor", f"{alert.pk}/silence", **sent).status_code == 201
    assert Silence.objects.get().expires == until
    assert send(world, "viewer", f"{alert.pk}/silence", **sent).status_code == 403


@pytest.mark.parametrize("labels", [{"worker": "w" * 1000}, {"no label": "x"}])
def test_too_long_labels_are_rejected_with_an_alternative(world: World, labels: dict[str, str]) -> None:
    alert = make_alert(world.live, labels=labels)
    refused = send(world, "editor", f"{alert.pk}/silence", comment="why")
    assert "choose its rule on this cluster" in refused.json()["errors"]["of"][0]
    assert send(world, "editor", f"{alert.pk}/silence", comment="why", of="cluster").status_code == 201


def test_a_timeline_has_the_alerts_of_its_cluster_in_order_of_time(world: World, alert: Alert) -> None:
    make_alert(world.live, "worker lost", 10, 10, 20)
    make_alert(world.ended, "elsewhere")
    notified = world.client("viewer").get(f"/api/v1/clusters/{world.live.pk}/alerts").json()
    assert [item["rule"] for item in notified["alerts"]] == ["worker lost", "memory pressure"]
    assert notified["rules"]["worker lost"] == {
        "description": "what worker lost means",
        "advice": "what to do about worker lost",
    }


def test_a_timeline_has_the_rules_text_filled_in_for_each_alert(world: World, alert: Alert) -> None:
    alert.rule.description = "{worker} is full"
    alert.rule.save()
    alert.rule.conditions.create(metric="a")
    notified = world.client("viewer").get(f"/api/v1/clusters/{world.live.pk}/alerts").json()
    [item] = notified["alerts"]
    assert item["text"]["description"] == f"{alert.labels['worker']} is full"


@pytest.mark.parametrize("accepted", ["identity", "gzip"])
def test_unchanged_alerts_return_304(world: World, alert: Alert, accepted: str) -> None:
    path = f"/api/v1/clusters/{world.live.pk}/alerts"
    notified = world.client("viewer").get(path, headers={"Accept-Encoding": accepted})
    known = {"If-None-Match": notified.headers["ETag"], "Accept-Encoding": accepted}
    assert world.client("viewer").get(path, headers=known).status_code == 304
    send(world, "editor", f"{alert.pk}/acknowledge")
    assert world.client("viewer").get(path, headers=known).status_code == 200


def test_a_run_has_the_alerts_that_overlap_its_window(world: World) -> None:
    """The run is from its cluster's 10th minute to its 11th."""
    times = {"before": (0, 500), "until": (0, 620), "in": (610, 630), "over": (0, None), "after": (700, None)}
    for name, (at, resolved) in times.items():
        make_alert(world.ended, name, at, at, resolved)
    run = make_run(world.ended, at=10, minutes=1)
    notified = world.client("viewer").get(f"/api/v1/runs/{run.pk}/timeline/alerts").json()["alerts"]
    assert {item["rule"] for item in notified} == {"until", "in", "over"}
    assert {item["pending"] for item in notified} == {
        world.ended.started.timestamp(),
        world.ended.started.timestamp() + 610,
    }


def test_a_public_link_shows_only_names_severities_and_clipped_times(world: World) -> None:
    secret = {"labels": {"worker": "secret"}, "message": "secret", "acknowledgement": "secret"}
    for name, at, fired, resolved in [
        ("before", 0, 0, 500),
        ("until", 0, 0, 620),
        ("over", 0, 0, None),
        ("fires after", 650, 665, 700),
        ("after", 700, 700, None),
    ]:
        make_alert(world.ended, name, at, fired, resolved, **secret)
    run = make_run(world.ended, at=10, minutes=1)
    link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), world.people["editor"])
    answer = world.client("anonymous").get(f"/api/v1/r/{link.token}/alerts")
    start, stop = run.start.timestamp(), run.start.timestamp() + 60
    notified = {item.pop("rule"): item for item in answer.json()["alerts"]}
    assert notified == {
        "until": {"severity": "warning", "pending": start, "fired": start, "resolved": start + 20},
        "over": {"severity": "warning", "pending": start, "fired": start, "resolved": stop},
        "fires after": {"severity": "warning", "pending": start + 50, "fired": None, "resolved": stop},
    }
    assert answer.json()["rules"] == {}
    assert b"secret" not in answer.content
