"""The answer of the API, the command and the client: what is said of findings, and to whom."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Cluster
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope, Section
from observatory.runs.models import Run
from observatory.store.connection import connect, read_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why import window
from observatory.why.critical_path.answer import critical_path
from observatory.why.findings import kinds
from observatory.why.findings.answer import findings
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.schemas import Findings
from observatory.why.findings.search import find
from observatory.why.thread_times.answer import thread_times
from observatory.why.what_if.answer import what_if
from tests.support.recorded_cluster import at
from tests.support.response_schemas import assert_documented
from tests.why.findings.simulated import Death, Simulated, found_in, futures, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)


def made_up(name: str, seconds: float, **options: Any) -> FindingKind:
    def look(evidence: Any) -> list[Finding]:
        return [Finding(f"It is {name}.", Cost(seconds, seconds), workers=options.pop("workers", ()))]

    return FindingKind(name, "Do something.", "https://docs.dask.org", look, **options)


TOO_LATE = """
from observatory.why.findings.finding import Cost, Finding, FindingKind

found = [Finding("It is too late.", Cost(3, 3))]
KIND = FindingKind("too late", "Do something.", "https://docs.dask.org", lambda evidence: found)
"""


def test_a_kind_is_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "made_up"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "too_late.py").write_text(TOO_LATE)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    kinds.finding_kinds.cache_clear()
    try:
        found = Simulated(futures(80)).findings()
    finally:
        kinds.finding_kinds.cache_clear()
    assert [(one["kind"], one["sentence"], one["advice"]) for one in found] == [
        ("too-late", "It is too late.", "Do something.")
    ]


def test_the_failure_is_first_then_the_most_costly_and_what_another_explains_is_left_out() -> None:
    known = {
        "cheap": made_up("cheap", 1),
        "costly": made_up("costly", 5),
        "failure": made_up("failure", 0, is_failure=True),
        "effect": made_up("effect", 9, explained_by=("cheap",)),
    }
    evidence: Any = SimpleNamespace(waits=SimpleNamespace(seconds={}))
    found = find(evidence, known)
    assert [name for name, _ in found] == ["failure", "costly", "cheap"]


def test_a_finding_explains_those_of_its_workers_alone() -> None:
    cause = Finding("", Cost(), workers=(1, 2))
    assert cause.overlaps(Finding("", Cost(), workers=(2,)))
    assert cause.overlaps(Finding("", Cost()))
    assert not cause.overlaps(Finding("", Cost(), workers=(3,)))
    assert not Finding("", Cost(), prefixes=(1,)).overlaps(Finding("", Cost(), prefixes=(2,)))


@pytest.fixture
def cluster() -> Cluster:
    """A worker died, and a task failed with a secret in its message."""
    simulated = Simulated(map_reduce(64, 1.0), deaths=[Death(2, 10.4, restarts_after=4)])
    simulated.error(1, "load-3", "tcp://10.0.0.1:4000", "erred", "KeyError", "password")
    return simulated.record()


def answer_of(scope: Scope, after: int = 0, before: int = MAXIMUM_TIME) -> dict[str, Any]:
    with read_connection() as connection:
        return findings(connection, scope, after, before)


def test_the_answer_is_as_documented(cluster: Cluster) -> None:
    found = answer_of(Scope(cluster))
    assert_documented(Findings, found)
    assert [one["kind"] for one in found["findings"]] == ["failure", "worker-died"]
    assert found["has_agent"]


def test_a_window_without_tasks_has_an_agent_where_one_reported_of_the_cluster() -> None:
    """As a run whose code fails before it submits a task."""
    cluster = Simulated(futures(8), submitted=5.0).record()
    window = [round(at(seconds).timestamp() * 1e6) for seconds in (1, 4)]
    assert not answer_of(Scope(cluster), *window)["has_agent"]
    with connect() as connection:
        connection.execute(
            """INSERT INTO agent (id, cluster_id, sequence, since, last, is_joint)
               VALUES (gen_random_uuid(), %s, 1, now(), now(), false)""",
            [cluster.pk],
        )
    assert answer_of(Scope(cluster), *window)["has_agent"]
    with read_connection() as connection:
        for answer in (thread_times, critical_path, what_if):
            assert answer(connection, Scope(cluster), *window)["has_agent"]


def test_a_link_shows_what_it_shares(cluster: Cluster) -> None:
    whole = Scope(cluster)
    assert "password" in str(answer_of(whole))
    hidden = replace(
        whole, sections=frozenset(Section) - {Section.TRACEBACKS}, pseudonyms=read_pseudonyms(cluster)
    )
    text = str(answer_of(hidden))
    assert "password" not in text
    assert "10.0." not in text
    assert "1 worker died: worker" in text


def test_a_window_has_its_own_findings(cluster: Cluster) -> None:
    early = replace(Scope(cluster), stop=round(at(10).timestamp() * 1e6), is_public=True)
    found = answer_of(early)
    assert [one["kind"] for one in found["findings"]] == ["failure"]
    assert all(moment["time"] <= at(10).timestamp() for one in found["findings"] for moment in one["moments"])
    assert answer_of(Scope(cluster), 1, 2)["findings"] == []


def test_a_window_with_too_many_tasks_says_what_to_do(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = User.objects.create_user("member")
    Membership.objects.create(project=cluster.project, user=user)
    client = Client()
    client.force_login(user)
    url = f"/api/v1/clusters/{cluster.pk}/findings"
    assert client.get(url).json()["findings"]
    assert client.get(f"{url}?after=-1").status_code == 422
    monkeypatch.setattr(window, "MOST_SPANS", 5)
    answered = client.get(url)
    assert answered.status_code == 413
    assert "Choose a shorter one" in answered.json()["detail"]


def test_the_command_prints_the_findings_of_a_run(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.objects.create(cluster=cluster, name="nightly", origin="cut", start=at(0), stop=at(20))
    out = StringIO()
    call_command("why", "nightly", stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "1. 1 task of load failed with KeyError: password."
    assert any(line.startswith("2. 1 worker died: w2") for line in lines)
    Run.objects.filter(pk=run.pk).update(start=at(0), stop=at(0.5))
    out = StringIO()
    call_command("why", f"runs/{run.pk}", stdout=out)
    assert out.getvalue().startswith("Nothing stands out. It was searched for: ")
    monkeypatch.setattr(window, "MOST_SPANS", 1)
    with pytest.raises(CommandError, match="Choose a shorter one"):
        call_command("why", f"clusters/{cluster.pk}", stdout=out)


def test_errors_of_a_run_that_finished_as_it_should_did_not_make_it_fail(cluster: Cluster) -> None:
    run = Run.objects.create(
        cluster=cluster, name="nightly", origin="code", start=at(0), stop=at(20), outcome=Run.Outcome.FINISHED
    )
    with read_connection() as connection:
        found = found_in(connection, replace(Scope(cluster), run=run.pk))
    assert not any(one["is_failure"] for one in found)
