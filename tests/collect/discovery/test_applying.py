"""What appears in a list becomes a target; what two answers lack is removed; a failure changes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from observatory.clusters.models import Discovery, Target
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.discovery.applying import apply
from observatory.collect.discovery.asking import Answer
from observatory.collect.discovery.due import claim_due, look_at_due
from observatory.collect.discovery.kind import MOST_FOUND, Found
from observatory.collect.discovery.status import discovery_status
from tests.collect.discovery.lists import make_discovery, serving
from tests.support.projects import HOSTILE

pytestmark = pytest.mark.django_db

A, B = Found("http://10.0.0.1:8787", "a"), Found("http://10.0.0.2:8787/status", "b")


@pytest.fixture
def discovery() -> Discovery:
    return make_discovery(
        "http_sd", "http://10.9.9.9/", workers="http", metrics_interval=30, identity_interval=3
    )


def found(discovery: Discovery, *clusters: Found, is_here: bool = False) -> list[str]:
    """The names of the targets after an answer."""
    apply(discovery, Answer(list(clusters), is_here))
    discovery.refresh_from_db()
    return [target.name for target in discovery.targets.all()]


def test_targets_get_the_settings_of_their_discovery(discovery: Discovery) -> None:
    assert found(discovery, A, B) == ["a", "b"]
    target = Target.objects.get(name="b")
    assert (target.url, target.project, target.enabled) == ("http://10.0.0.2:8787", discovery.project, True)
    assert (target.workers, target.metrics_interval, target.identity_interval) == ("http", 30, 3)
    assert (discovery.found, discovery.warning, discovery.error) == (2, "", "")
    assert discovery.answered is not None


def test_what_is_gone_twice_in_a_row_is_removed(discovery: Discovery) -> None:
    assert found(discovery, A, B) == ["a", "b"]
    assert found(discovery, A) == ["a", "b"]
    assert found(discovery, A, B) == ["a", "b"]
    assert found(discovery, A) == ["a", "b"]
    assert found(discovery, A) == ["a"]
    assert found(discovery) == ["a"]
    assert found(discovery) == []


def test_a_failure_changes_no_target_and_is_told(discovery: Discovery) -> None:
    found(discovery, A)
    for _ in range(3):
        apply(discovery, Answer(error="The list cannot be had: it answered with status 500."))
    discovery.refresh_from_db()
    discovery.looked = timezone.now()
    assert discovery.targets.get().missed == 0
    assert discovery_status(discovery).word == "failing"
    assert discovery_status(discovery).sentence.endswith("status 500.")
    assert found(discovery, A) == ["a"]
    assert discovery.error == ""


def test_targets_of_people_and_of_other_discoveries_are_left_as_they_are(discovery: Discovery) -> None:
    own = Target.objects.create(project=discovery.project, name="mine", url=A.url)
    other = make_discovery("http_sd", "http://10.8.8.8/", name="other")
    assert found(other, B) == ["b"]
    assert found(discovery, A, B) == []
    assert discovery.warning == "2 are targets already, and left as before."
    found(discovery)
    found(discovery)
    own.refresh_from_db()
    assert (own.name, own.discovery, own.missed) == ("mine", None, 0)
    assert other.targets.count() == 1


def test_a_paused_target_stays_paused_and_a_renamed_one_renamed(discovery: Discovery) -> None:
    found(discovery, A)
    discovery.targets.update(enabled=False, name="mine")
    assert found(discovery, A) == ["mine"]
    assert not discovery.targets.get().enabled


def test_names_that_are_taken_are_told_apart(discovery: Discovery) -> None:
    Target.objects.create(project=discovery.project, name="a", url="http://10.7.7.7:8787")
    same = Found(f"{A.url}/one", "a"), Found(f"{A.url}/two", "a"), Found(f"{A.url}/three", "a")
    assert found(discovery, *same) == ["a (10.0.0.1:8787)", "a (2)", "a (3)"]


def test_what_cannot_be_observed_is_skipped_and_named(discovery: Discovery) -> None:
    hostile = (
        Found("tcp://10.0.0.9:8786", "no-http"),
        Found("http://user:secret@10.0.0.9", "with-password"),
        Found("http://127.0.0.1:8787", "loopback"),
        Found("http://[::ffff:169.254.169.254]/", "metadata"),
        Found("http://10.0.0.9/?x=1", "query"),
        Found(f"http://10.0.0.9/{'x' * 500}", "long"),
        Found("http://10.0.0.9\n:80", "line\nbreak"),
    )
    assert found(discovery, *hostile, A) == ["a"]
    assert discovery.found == 1
    assert discovery.warning.startswith("7 cannot be observed: no-http: Only http:// and https:// are spoken")
    assert discovery.warning.endswith("; ….")
    assert "secret" not in discovery.warning


def test_names_from_outside_are_made_fit_for_a_line(discovery: Discovery) -> None:
    names = (f"{HOSTILE}\x00\n\ud800", "n" * 300, " \n ")
    listed = [Found(f"http://10.0.1.{number}:8787", name) for number, name in enumerate(names)]
    assert found(discovery, *listed) == ["10.0.1.2:8787", HOSTILE, "n" * 100]


def test_only_lists_of_this_machine_name_this_machine(discovery: Discovery) -> None:
    here = Found("http://127.0.0.1:8787", "here"), Found("http://169.254.1.1:8787", "link-local")
    assert found(discovery, *here, is_here=True) == ["here"]


def test_the_number_of_targets_is_bounded_and_the_excess_told(discovery: Discovery) -> None:
    many = [
        Found(f"http://10.1.{number // 250}.{number % 250}:8787", f"c{number}") for number in range(1_100)
    ]
    assert len(found(discovery, *many)) == MOST_FOUND == discovery.found
    assert discovery.warning == "The list has more than 1,000 clusters: those after them are left out."


def test_an_answer_to_another_question_is_not_applied(discovery: Discovery) -> None:
    Discovery.objects.update(address="http://10.9.9.8/")
    assert found(discovery, A) == []
    Discovery.objects.update(address="http://10.9.9.9/", enabled=False)
    discovery.address = "http://10.9.9.9/"
    assert found(discovery, A) == []
    discovery.delete()
    apply(discovery, Answer([A]))
    assert not Target.objects.exists()


def test_each_is_asked_when_its_interval_has_passed_by_one_process() -> None:
    now = timezone.now()
    due = make_discovery(
        "http_sd", "http://10.0.0.1/", name="due", interval=30, looked=now - timedelta(seconds=31)
    )
    make_discovery(
        "http_sd", "http://10.0.0.1/", name="early", interval=30, looked=now - timedelta(seconds=20)
    )
    make_discovery("http_sd", "http://10.0.0.1/", name="paused", enabled=False)
    new = make_discovery("http_sd", "http://10.0.0.1/", name="new")
    assert claim_due() == [due, new]
    assert claim_due() == []


def test_one_that_fails_does_not_keep_others_from_being_asked() -> None:
    with serving(lambda path, query: [{"targets": ["10.0.0.1:8787"]}]) as server:
        make_discovery("http_sd", f"{server.url}/", Credentials(token="s3cret"), shares_credentials=True)
        make_discovery("http_sd", "http://no-such-host.invalid/", name="away")
        make_discovery("of another version", server.url, name="unknown")
        look_at_due()
    assert Target.objects.get().secret == Discovery.objects.get(name="http_sd").secret != ""
    errors = dict(Discovery.objects.values_list("name", "error"))
    assert errors["http_sd"] == ""
    assert errors["away"].startswith("No list of clusters arrived")
    assert "no kind of discovery" in errors["unknown"]
    for discovery, word in (("http_sd", "answering"), ("away", "failing")):
        assert discovery_status(Discovery.objects.get(name=discovery)).word == word


def test_the_state_says_what_is_listed_and_when_nobody_asks() -> None:
    discovery = make_discovery("http_sd", "http://10.0.0.1/", looked=timezone.now())
    assert discovery_status(discovery).sentence == "The list is being requested."
    found(discovery)
    assert discovery_status(discovery).sentence == "No cluster is listed."
    found(discovery, A)
    assert discovery_status(discovery).sentence == "All listed clusters are targets."
    discovery.looked = None
    assert discovery_status(discovery).word == "waiting"
    discovery.looked = timezone.now() - timedelta(minutes=3)
    assert "doctor" in discovery_status(discovery).sentence
    discovery.enabled = False
    assert discovery_status(discovery).word == "paused"
