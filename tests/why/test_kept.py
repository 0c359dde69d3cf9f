"""Answers of runs with too many tasks to be looked at meanwhile: when they are kept, and for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import now

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Cluster
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.runs.models import Run, RunExplanation, RunFindings
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why import window
from observatory.why.findings.of_runs import look_at_new_runs
from observatory.why.kept import ANSWERS, Name, StillLooking, explained
from observatory.why.window import TooManyTasks
from tests.support.recorded_cluster import at
from tests.why.findings.simulated import Death, Simulated, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)
NAMES: tuple[Name, ...] = ("critical-path", "thread-times", "findings")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """It has more actions of tasks than are looked at while somebody waits."""
    monkeypatch.setattr(window, "MOST_SPANS", 50)
    return Simulated(map_reduce(64, 1.0), deaths=[Death(2, 10.4, restarts_after=4)]).record()


@pytest.fixture
def run(cluster: Cluster) -> Run:
    return Run.objects.create(
        cluster=cluster, name="etl", origin="code", start=at(0), stop=at(60), tasks=140, counted=now()
    )


def test_of_a_large_run_the_answers_are_kept_as_they_would_be_of_a_smaller_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_at_new_runs()
    assert RunFindings.objects.get(run=run).kind == "worker-died"
    scope = scope_of_run(run)
    with read_connection() as connection:
        found = {name: explained(connection, scope, name, 0, MAXIMUM_TIME) for name in NAMES}
        monkeypatch.setattr(window, "MOST_SPANS", 1_000)
        assert found == {name: ANSWERS[name](connection, scope, 0, MAXIMUM_TIME, None) for name in NAMES}


def test_only_all_of_the_run_is_kept_and_only_of_runs(run: Run) -> None:
    look_at_new_runs()
    scope = scope_of_run(run)
    with read_connection() as connection:
        with pytest.raises(TooManyTasks):
            explained(connection, scope, "critical-path", 0, round((run.start.timestamp() + 12) * 1e6))
        with pytest.raises(TooManyTasks):
            explained(connection, replace(scope, run=None), "critical-path", 0, MAXIMUM_TIME)


def test_until_it_was_looked_at_the_api_says_when_to_ask_again(client: Client, run: Run) -> None:
    person = User.objects.create_user("ada")
    Membership.objects.create(project=run.cluster.project, user=person, role=Membership.Role.VIEWER)
    client.force_login(person)
    url = f"/api/v1/runs/{run.pk}/timeline/critical-path"
    early = client.get(url)
    assert (early.status_code, early.headers["Retry-After"]) == (503, "15")
    assert "looked at in the background" in early.json()["detail"]
    look_at_new_runs()
    assert client.get(url).json()["pieces"]
    Run.objects.filter(pk=run.pk).update(counted=now())
    assert client.get(url).status_code == 503, "its records have changed"


def test_a_run_that_could_not_be_looked_at_has_too_many_tasks(run: Run) -> None:
    RunFindings.objects.create(run=run, state="failed", counted=run.counted)
    with read_connection() as connection, pytest.raises(TooManyTasks):
        explained(connection, scope_of_run(run), "thread-times", 0, MAXIMUM_TIME)


def test_an_open_run_is_not_looked_at(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(stop=None)
    run.refresh_from_db()
    with read_connection() as connection, pytest.raises(TooManyTasks):
        explained(connection, scope_of_run(run), "findings", 0, MAXIMUM_TIME)


def test_a_link_has_no_kept_findings_and_hides_addresses_in_the_rest(run: Run) -> None:
    look_at_new_runs()
    kept = RunExplanation.objects.get(run=run)
    kept.answers["critical-path"]["pieces"][0]["key"] = "load-tcp://10.0.0.1:4000"
    kept.save()
    link = replace(scope_of_run(run), is_public=True, pseudonyms=read_pseudonyms(run.cluster))
    with read_connection() as connection:
        shown = explained(connection, link, "critical-path", 0, MAXIMUM_TIME)
        with pytest.raises((TooManyTasks, StillLooking)):
            explained(connection, link, "findings", 0, MAXIMUM_TIME)
    assert "10.0.0.1" not in str(shown)
    assert shown["kinds"] == kept.answers["critical-path"]["kinds"]


def test_a_run_that_became_small_has_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at_new_runs()
    monkeypatch.setattr(window, "MOST_SPANS", 1_000)
    Run.objects.filter(pk=run.pk).update(counted=now())
    look_at_new_runs()
    assert not RunExplanation.objects.filter(run=run).exists()
