"""Back-tests of the unsaved rule on its page."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Permission

from observatory.alerts.admin import progress
from observatory.clusters.models import Cluster
from tests.alerts.admin.forms import BLANK, LOST, MEMORY, RUN, rule_form
from tests.support.projects import World, make_run
from tests.support.recorded_cluster import START, Recorded

RULE = "/admin/alerts/rule/"


def tried(world: World, *conditions: dict[str, Any], role: str = "superuser", **fields: Any) -> Any:
    """The answer to a rule of these conditions, tried on the five minutes of the cluster that ended."""
    window = {"back-test-window": "custom", "back-test-start": START - 10, "back-test-stop": START + 290}
    chosen = {"back-test-clusters": [world.ended.pk]}
    form = rule_form(*conditions, **{"name": ""} | window | chosen | fields)
    return world.client(role).post(f"{RULE}back-test/", form)


def test_a_back_test_returns_firings_with_their_times(memory: Recorded, world: World) -> None:
    notified = tried(world, MEMORY).json()
    [firing] = notified["firings"]
    assert (firing["cluster"], firing["subject"]) == ("evening", "full")
    assert firing["fired"] == START + 120
    assert firing["resolved"] == START + 180
    assert firing["value"] == pytest.approx(0.9)
    assert (notified["unit"], notified["threshold"], notified["clear_threshold"]) == (
        "ratio",
        pytest.approx(0.8),
        pytest.approx(0.7),
    )
    assert [line["subject"] for line in notified["lines"]] == ["full", "empty"]


def test_each_firing_links_to_its_time_on_the_timeline(memory: Recorded, world: World) -> None:
    [firing] = tried(world, MEMORY).json()["firings"]
    link = urlsplit(firing["url"])
    assert link.path == f"/clusters/{world.ended.pk}/"
    assert float(parse_qs(link.query)["at"][0]) == firing["fired"]
    assert world.client("superuser").get(firing["url"]).status_code == 200


def test_threshold_and_hold_time_change_the_firings(memory: Recorded, world: World) -> None:
    def fired(**changed: str) -> list[str]:
        hold = changed.pop("hold_seconds", "0")
        notified = tried(world, MEMORY | changed, hold_seconds=hold).json()
        return [firing["subject"] for firing in notified["firings"]]

    assert fired(threshold="95 %") == []
    assert fired(threshold="20 %", clear_threshold="") == ["full", "empty"]
    assert fired(hold_seconds="30 s") == ["full"]
    assert fired(hold_seconds="2 min") == []


def test_events_are_returned_with_their_times(recorded: Recorded, memory: Recorded, world: World) -> None:
    recorded.worker(
        "tcp://10.0.0.1:3", "gone", died=100.0, events=[(100.0, "worker-lost", {"message": "hm"})]
    )
    notified = tried(world, LOST).json()
    assert notified["is_event"]
    [firing] = notified["firings"]
    assert (firing["subject"], firing["fired"]) == ("gone", START + 100)


def test_a_rule_on_runs_is_tried_on_past_runs_and_says_which_had_too_few_before(
    memory: Recorded, world: World
) -> None:
    for place, minutes in enumerate((1.0, 1.0, 1.0, 1.5, 1.1)):
        make_run(world.ended, "nightly", 1.6 * place, minutes)
    answer = tried(world, RUN | {"window_seconds": "1 min"}).json()
    began = START - 100
    [firing] = answer["firings"]
    assert (firing["subject"], firing["text"]) == ("run=nightly", "nightly took 1 min 30 s, usually 1 min")
    assert (firing["fired"], firing["value"]) == (began + 6.3 * 60, pytest.approx(0.5))
    assert (answer["unit"], answer["threshold"], answer["is_event"]) == ("ratio", 0.2, False)
    assert answer["runs"] == {"ended": 4, "unjudged": 3, "fewest": 3}
    [line] = answer["lines"]
    assert [text for _, text in line["marks"]][-1] == firing["text"]
    none = tried(world, RUN | {"run_name": "weekly"}).json()
    assert (none["runs"]["ended"], none["lines"], none["firings"]) == (0, [], [])
    new_errors = tried(world, RUN | {"measure": "new-errors", "threshold": ""}).json()
    assert (new_errors["is_event"], new_errors["firings"]) == (True, [])


def test_without_clusters_a_rule_on_runs_is_tried_on_more_of_them(memory: Recorded, world: World) -> None:
    for number in range(12):
        cluster = Cluster.objects.create(
            project=world.ended.project,
            name=f"night {number}",
            scheduler_id=f"Scheduler-night-{number}",
            started=world.ended.started,
            ended=world.ended.ended,
            last_seen=world.ended.last_seen,
        )
        make_run(cluster, "nightly", 0.1 * number, 2 if number == 11 else 1)
    answer = tried(world, RUN, **{"back-test-clusters": []}).json()
    assert len(answer["clusters"]) >= 12
    assert [firing["cluster"] for firing in answer["firings"]] == ["night 11"]
    assert len(tried(world, MEMORY, **{"back-test-clusters": []}).json()["clusters"]) <= 8


def test_no_firings_and_no_data_are_distinguished(memory: Recorded, world: World) -> None:
    quiet = tried(world, MEMORY | {"threshold": "99 %"}).json()
    assert quiet["lines"]
    assert quiet["firings"] == []
    other = MEMORY | {"metric": "observatory_worker_cpu_percent", "labels": "", "other": ""}
    assert tried(world, other).json()["lines"] == []


def test_a_back_test_uses_the_clusters_of_the_scope_by_default(memory: Recorded, world: World) -> None:
    def clusters(**fields: Any) -> list[str]:
        found: list[str] = tried(world, MEMORY, **{"back-test-clusters": []} | fields).json()["clusters"]
        return found

    assert "evening" in clusters()
    assert clusters(cluster_names="even*") == ["evening"]
    assert clusters(cluster_names="nothing-*") == []
    assert "evening" in clusters(projects=[world.alpha.pk])
    assert "evening" not in clusters(projects=[world.beta.pk])


@pytest.mark.parametrize(
    ("conditions", "fields", "name"),
    [
        ([MEMORY | {"threshold": "a lot"}], {}, "conditions-0-threshold"),
        ([MEMORY | {"labels": "type"}], {}, "conditions-0-labels"),
        ([MEMORY, MEMORY | {"metric": "no_such_metric"}], {}, "conditions-1-metric"),
        ([MEMORY], {"hold_seconds": "long"}, "hold_seconds"),
        ([MEMORY], {"back-test-start": START + 300}, "back-test-window"),
        ([MEMORY], {"back-test-start": START - 40 * 86_400}, "back-test-window"),
        ([MEMORY], {"back-test-window": "year"}, "back-test-window"),
        ([MEMORY], {"back-test-clusters": [10**9]}, "back-test-clusters"),
        ([BLANK], {}, ""),
    ],
)
def test_an_invalid_back_test_is_rejected_with_errors_at_its_fields(
    world: World, conditions: list[dict[str, str]], fields: dict[str, Any], name: str
) -> None:
    answer = tried(world, *conditions, **fields)
    assert answer.status_code == 422
    assert name in answer.json()["errors"], answer.json()


def test_malformed_requests_are_rejected(world: World) -> None:
    client = world.client("superuser")
    for data in ({}, {"conditions-TOTAL_FORMS": "x"}, {"conditions-TOTAL_FORMS": "9" * 30}):
        assert client.post(f"{RULE}back-test/", data).status_code == 422
    assert client.get(f"{RULE}back-test/").status_code == 405


def test_back_tests_of_staff_require_the_permission_and_access_to_the_clusters(
    memory: Recorded, world: World
) -> None:
    """Those of owners: test_owners.py."""
    assert tried(world, MEMORY, role="viewer").status_code == 302
    for role in ("nobody", "editor"):
        person = world.people[role]
        person.is_staff = True
        person.save()
        assert tried(world, MEMORY, role=role).status_code == 403
        person.user_permissions.add(Permission.objects.get(codename="view_rule"))
    assert "back-test-clusters" in tried(world, MEMORY, role="nobody").json()["errors"]
    found = tried(world, MEMORY, role="nobody", **{"back-test-clusters": []}).json()["clusters"]
    assert "evening" not in found
    assert "evening" in tried(world, MEMORY, role="editor").json()["clusters"]


def test_metrics_are_listed_with_help_and_labels(memory: Recorded, world: World) -> None:
    notified = world.client("superuser").get(f"{RULE}metrics/").json()["metrics"]
    memory_of_workers = next(each for each in notified if each["name"] == MEMORY["metric"])
    assert memory_of_workers["help"]
    assert memory_of_workers["unit"] == "bytes"
    assert "process" in memory_of_workers["labels"]["type"]
    assert {"full", "empty"} <= set(memory_of_workers["labels"]["worker"])


def test_recent_values_are_limited_to_the_labels(memory: Recorded, world: World) -> None:
    def recent(**changed: str) -> Any:
        form = rule_form(MEMORY | changed, recent="conditions-0", cluster_names="evening")
        return world.client("superuser").post(f"{RULE}recent/", form)

    bins = recent().json()["bins"]
    assert max(each["maximum"] for each in bins) == pytest.approx(3.6 * 2**30)
    assert recent(labels='worker="empty"').json()["series"] == 1
    assert recent(labels="worker").status_code == 422


def test_clusters_and_runs_are_found_by_name(world: World) -> None:
    notified = world.client("superuser").get(f"{RULE}places/?q=EVEN").json()
    assert [place["name"] for place in notified["clusters"]] == ["evening"]
    notified = world.client("superuser").get(f"{RULE}places/?q=nightly").json()
    assert [place["name"] for place in notified["runs"]] == ["nightly of alpha"]


def test_a_back_test_returns_warnings_with_the_fields_that_they_are_about(
    memory: Recorded, world: World
) -> None:
    assert tried(world, MEMORY, cluster_names="evening").json()["warnings"] == []
    other = MEMORY | {"metric": "dask_worker_threads", "labels": "", "other": "", "comparison": ">="}
    other |= {"threshold": "4", "clear_threshold": ""}
    doubtful = tried(world, MEMORY | {"labels": ""}, other, cluster_names="evening").json()["warnings"]
    assert [(each["prefix"], each["field"]) for each in doubtful] == [
        ("conditions-0", "labels"),
        ("conditions-1", "metric"),
    ]
    assert "evening" in doubtful[1]["message"]


FLAPPING = MEMORY | {"other": "", "labels": 'type="process", worker="unsteady"', "clear_threshold": ""}


def test_a_back_test_says_how_long_firings_lasted_and_offers_a_threshold_to_clear_at(
    flapping: Recorded, world: World
) -> None:
    found = tried(world, FLAPPING | {"threshold": "3 GiB"}).json()
    assert found["lasted"] == {"count": 15, "median": 10, "shortest": 10}
    offer = found["clear_offer"]
    assert offer["text"] == "2.4 GiB"
    assert offer["lasted"]["count"] == 1
    cleared = tried(world, FLAPPING | {"threshold": "3 GiB", "clear_threshold": offer["text"]}).json()
    assert cleared["lasted"] == offer["lasted"]
    assert cleared["clear_offer"] is None


def test_a_back_test_says_how_often_the_threshold_was_crossed_for_too_short(
    flapping: Recorded, world: World
) -> None:
    found = tried(world, FLAPPING | {"threshold": "3 GiB"}, hold_seconds="30 s").json()
    assert (found["lasted"], found["hold"], found["clear_offer"]) == (None, 30, None)
    assert found["too_short"] == {"count": 14, "longest": 10}


def test_a_page_is_told_how_far_its_own_back_test_is(
    memory: Recorded, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    name = secrets.token_hex(16)
    url = f"{RULE}back-test-progress/"
    assert world.client("superuser").get(url, {"name": name}).json() == {"share": None}
    assert tried(world, MEMORY, **{"back-test-name": name}).json()["firings"]
    assert world.client("superuser").get(url, {"name": name}).json() == {"share": pytest.approx(1.0)}
    assert world.client("superuser").get(url, {"name": f"{name}'"}).json() == {"share": None}
    assert world.client("owner").get(url, {"name": name}).json() == {"share": None}
    assert world.client("anonymous").get(url, {"name": name}).status_code == 302


def test_a_window_of_months_needs_a_dask_cluster_and_the_setting_is_named(
    memory: Recorded, world: World, settings: LazySettings
) -> None:
    months = {"back-test-start": START - 200 * 86_400}
    refused = tried(world, MEMORY, **months)
    assert refused.status_code == 422
    [text] = refused.json()["errors"]["back-test-window"]
    assert text.startswith("A window has at most 32 days, or 400 where OBSERVATORY_SCAN_SCHEDULER names")
    settings.SCAN_SCHEDULER = "tcp://127.0.0.1:9"  # of which nothing is needed: no sample is archived
    assert len(tried(world, MEMORY, **months).json()["firings"]) == 1
    refused = tried(world, MEMORY, **{"back-test-start": START - 401 * 86_400})
    assert refused.json()["errors"]["back-test-window"] == ["A window has at most 400 days."]
