"""The card of a run: what it did, and what is unusual against earlier runs of its name."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.utils.html import escape

from observatory.comparison.card.schemas import RunCard
from observatory.runs.models import Note, Permalink, Run
from observatory.runs.refresh import refresh_figures
from observatory.runs.sharing.links import make_link
from observatory.store.connection import connect, read_connection
from observatory.store.ingest.batches.batch import Batch, BatchBuilder
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from observatory.wire.client_code.submitted_code import Frame, frames_of_code
from observatory.wire.event_kinds import RUN_RAISED
from observatory.wire.records import Event
from tests.comparison.made_runs import START, make_run
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import Recorded
from tests.support.response_schemas import assert_documented
from tests.support.stored_findings import finding, keep
from tests.support.traces import ID

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "10.11.12.13"


@pytest.fixture
def run(transactional_db: None, world: World) -> Iterator[Run]:
    """A run of 60 tasks each of `load` (0.2 s) and `clean` (0.3 s), of which one failed, with everything."""
    run = make_run(world.ended, 0, {"load": 0.2, "clean": 0.3}, tags={"git": "3f2a1c"})
    run.user, run.code = "lovelace", f"with observatory.run('etl'):  # at {SECRET}"
    with Writer() as writer:
        batch = BatchBuilder(world.ended.pk)
        batch.rows["computation"] = [
            (START - 0.5, "c1", "Client-1", "load.compute()", [["load-000000000000", 1]], {}, []),
            (START - 0.4, "c1", "Client-1", "", [["clean-000000000000", 1]], {}, []),
            (START + 1, "c3", "Client-1", "", [["load-000000000000", 1], ["load-000000000007", 1]], {}, []),
            (START - 0.5, "c2", "Client-1", "nothing of this ran", [["other", 9]], {}, []),
        ]
        writer.write(batch.batch)
    with connect() as connection:
        recorded = Recorded(connection, world.ended.pk)
        at = START - 1_780_000_000.0
        recorded.error(at + 2, "load-1", "KeyError", "retried", outcome="retried")
        recorded.error(at + 4, "load-3", "TypeError", "the second")
        recorded.error(at + 3, "load-2", "ValueError", f"no {HOSTILE} at {SECRET}")
    Note.objects.create(
        cluster=world.ended, time=from_seconds(START + 1), text="look here", author=world.people["editor"]
    )
    run.save()
    refresh_figures(run)
    yield run
    delete_cluster(world.ended.pk)


def earlier(run: Run, seconds: list[float]) -> None:
    """Runs of the same name, a day apart, before `run`; the last is the day before."""
    for days, length in enumerate(reversed(seconds), 1):
        start = run.start - timedelta(days=days)
        Run.objects.create(
            cluster=run.cluster,
            name=run.name,
            origin=Run.Origin.CODE,
            outcome=Run.Outcome.FINISHED,
            start=start,
            stop=start + timedelta(seconds=length),
        )


def test_the_card_has_what_the_run_did(world: World, run: Run) -> None:
    card = world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    assert (card["outcome"], card["user"], card["tags"]) == ("erred", "lovelace", {"git": "3f2a1c"})
    assert (card["tasks"], card["errors"], card["threads"], card["memory_limit"]) == (120, 2, 2, 4 * 2**30)
    assert card["first_error"]["type"] == "ValueError"
    [clean, load] = card["prefixes"]
    assert (clean["name"], clean["tasks"], load["name"], load["tasks"]) == ("clean", 60, "load", 60)
    assert clean["seconds"] == pytest.approx(18, rel=0.01)
    assert clean["share"] == pytest.approx(0.6, abs=0.01)
    assert clean["histogram"] == [[72, 60]], "2^(72/4) µs is 0.26 s, and 2^(73/4) µs is 0.31 s"
    assert sum(tasks for _, tasks in load["histogram"]) == 60
    times = {time["name"]: time for time in card["times"]}
    assert times["compute"]["seconds"] == pytest.approx(30, rel=0.01)
    assert sum(time["share"] for time in card["times"]) == pytest.approx(1)
    [note] = card["notes"]
    assert (note["text"], note["author"]) == ("look here", "editor")


def test_durations_are_those_of_the_spans_not_the_edges_of_bins(world: World, run: Run) -> None:
    with read_connection() as connection:
        rows = connection.execute(
            """SELECT name, extract(epoch FROM stop - start)::float8 FROM span
               JOIN prefix ON prefix.id = prefix_id
               WHERE span.cluster_id = %s AND start >= %s AND stop <= %s AND action = 0""",
            [run.cluster_id, run.start, run.stop],
        ).fetchall()
    found = world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()["prefixes"]
    assert {prefix["name"] for prefix in found} == {name for name, _ in rows}
    for prefix in found:
        durations = [seconds for name, seconds in rows if name == prefix["name"]]
        assert (prefix["shortest"], prefix["longest"]) == (min(durations), max(durations))
        assert prefix["median"] == pytest.approx(statistics.median(durations))
        assert prefix["p95"] == pytest.approx(float(np.quantile(durations, 0.95)))


def test_a_run_counted_by_an_earlier_version_has_its_histograms_alone(world: World, run: Run) -> None:
    [clean, load] = run.contents["prefixes"]
    del clean["shortest"], clean["median"], clean["p95"], clean["longest"]
    run.save(update_fields=["contents"])
    client = world.client("viewer")
    card = client.get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    assert [prefix["median"] is None for prefix in card["prefixes"]] == [True, False]
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert page.count("median ") == 1
    assert load["median"]


def test_a_computation_has_the_time_from_its_submission_to_its_last_task(world: World, run: Run) -> None:
    card = world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()
    computation, later = card["computations"]
    assert later["tasks"] == 1, "the group that it depends on is of the earlier one"
    assert (computation["code"], computation["tasks"]) == ("load.compute()", 2), "of two graphs"
    assert computation["time"] == START, "it was submitted before the run's first task"
    assert computation["seconds"] == pytest.approx(0.3, rel=0.02)
    assert card["computation_count"] == 2


def test_code_is_shown_around_the_lines_that_submitted_it(world: World, run: Run) -> None:
    lines = [f"step_{number} = {number}" for number in range(1, 501)]
    lines[299] = f"total.compute()  # {HOSTILE}"
    with Writer() as writer:
        batch = BatchBuilder(world.ended.pk)
        code = str(Frame("\n".join(lines), "/home/lovelace/etl.py", 1, (300,)))
        batch.rows["computation"] = [
            (START - 0.3, "c1", "Client-1", code, [["clean-000000000000", 1]], {}, [])
        ]
        writer.write(batch.batch)
    refresh_figures(run)
    client = world.client("viewer")
    computation = client.get(f"/api/v1/runs/{run.pk}/card").json()["computations"][0]
    [frame] = frames_of_code(computation["code"])
    assert (frame.file, frame.first, frame.calls) == ("/home/lovelace/etl.py", 296, (300,))
    assert frame.source.split("\n") == lines[295:304]
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "etl.py:300</p>" in page
    assert f'<span data-line="300"><mark>total.compute()  # {escape(HOSTILE)}</mark>' in page
    assert "step_295 = 295" not in page
    assert '<span data-line="296">step_296 = 296' in page


def test_what_is_unusual_is_named_with_what_is_usual(world: World, run: Run) -> None:
    earlier(run, [10.0, 10.1, 9.9, 10.0])
    history = world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()["history"]
    assert history["durations"] == [10.0, 10.1, 9.9, 10.0]
    [duration] = [figure for figure in history["unusual"] if figure["name"] == "Duration"]
    assert (duration["unit"], duration["usual"]) == ("seconds", 10.0)
    assert duration["value"] == pytest.approx(15, abs=0.3)
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    assert "more</" not in page
    assert "more than usual (10.0 s)" in page
    assert "Durations of the last 5 runs: 9.90 s to" in page


def test_with_two_earlier_runs_nothing_is_called_usual_or_unusual(world: World, run: Run) -> None:
    earlier(run, [10.0, 10.0])
    history = world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()["history"]
    assert (history["is_known"], history["unusual"]) == (False, [])
    assert "three are needed" in world.client("viewer").get(f"/runs/{run.pk}/").content.decode()


def test_the_runs_page_begins_with_the_card_and_escapes_what_it_shows(world: World, run: Run) -> None:
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    for shown in (
        "with errors",
        "ValueError",
        "git=3f2a1c",
        "by lovelace",
        "look here",
        "load.compute()",
        "compute",
    ):
        assert shown in page, shown
    assert HOSTILE not in page
    assert "style=" not in page
    assert "data-refresh" not in page


@pytest.mark.parametrize(
    ("exception", "said"),
    [(HOSTILE, f"Its code raised {escape(HOSTILE)}."), ("SIGTERM", "Its process got SIGTERM.")],
)
def test_the_headline_says_what_ended_the_code_of_a_run_without_failed_tasks(
    world: World, exception: str, said: str
) -> None:
    run = make_run(world.ended, 0, {"load": 0.2}, tags={"exception": exception})
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    assert said in page.partition('id="run-headline"')[2].partition("</summary>")[0]
    link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), world.people["owner"])
    assert said not in world.client("anonymous").get(f"/r/{link.token}").content.decode()


def test_the_card_says_what_the_code_of_a_run_raised_and_where(world: World) -> None:
    run = make_run(world.ended, 0, {"load": 0.2}, tags={"exception": "KeyError"})
    run.code_id, run.outcome = uuid4(), Run.Outcome.ERRED
    run.save()
    traceback = (
        f'  File "/home/lovelace/etl.py", line 12, in main\n    orders[{HOSTILE}]\nKeyError: {HOSTILE}'
    )
    told = {"run": run.code_id.hex, "exception_type": "KeyError", "exception_message": HOSTILE}
    rounded = run.stop.timestamp() + 1e-6
    events = [
        Event(rounded, RUN_RAISED, "", {**told, "message": "", "traceback": traceback}),
        Event(
            run.stop.timestamp(), RUN_RAISED, "", {**told, "message": "", "run": uuid4().hex, "traceback": ""}
        ),
    ]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, events=events))
    client = world.client("viewer")
    card = client.get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    raised = card["raised"]
    assert (raised["type"], raised["message"], raised["traceback"]) == ("KeyError", HOSTILE, traceback)
    assert (raised["function"], raised["file"], raised["line"]) == ("main", "etl.py", 12)
    page = client.get(f"/runs/{run.pk}/").content.decode()
    headline = page.partition('id="run-headline"')[2].partition("</summary>")[0]
    assert f"Its code raised KeyError: {escape(HOSTILE)} in main (etl.py:12)." in headline
    assert HOSTILE not in page
    anyone = Permalink(run=run, audience=Permalink.Audience.ANYONE)
    link = make_link(anyone, world.people["owner"])
    assert "etl.py" not in world.client("anonymous").get(f"/r/{link.token}").content.decode()
    assert world.client("anonymous").get(f"/api/v1/r/{link.token}/card").json()["raised"] is None


def test_the_tag_of_a_trace_is_a_link_to_it_where_a_setting_says_where(
    world: World, run: Run, settings: Any
) -> None:
    def page(trace: str) -> str:
        run.tags = {"trace": trace, "trace_span": "00f067aa0ba902b7"}
        run.save()
        return str(world.client("viewer").get(f"/runs/{run.pk}/").content.decode())

    url = "https://jaeger.example.org/trace/"
    assert url not in page(ID)
    settings.TRACE_URL = url + "{trace}"
    assert f'href="{url}{ID}"' in page(ID)
    assert "trace_span" not in page(ID)
    for other in ("", "../../admin", ID.upper(), HOSTILE):
        assert url not in page(other), "a tag can be anything"


def test_the_card_has_the_main_finding_which_leads_to_the_tab_why(world: World, run: Run) -> None:
    client = world.client("viewer")
    assert "Main finding" not in client.get(f"/runs/{run.pk}/").content.decode()
    keep(run, finding("failure", 12, sentence=f"1 task failed with {HOSTILE} at {SECRET}."))
    card = client.get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    assert (card["main_finding"]["kind"], card["main_finding"]["thread_seconds"]) == ("failure", 12)
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert '<a href="?tab=why">1 task failed with &lt;img' in page
    assert "costs 12.0 s of threads" in page
    link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), world.people["owner"])
    assert client.get(f"/api/v1/r/{link.token}/card").json()["main_finding"] is None
    assert "Main finding" not in client.get(f"/r/{link.token}").content.decode()


def test_a_card_says_that_nothing_stands_out(world: World, run: Run) -> None:
    keep(run)
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    assert '<dt>Main finding</dt><dd class="muted">nothing stands out</dd>' in page


def test_a_run_without_figures_is_being_counted_and_its_card_is_asked_for_again(
    world: World, run: Run
) -> None:
    Run.objects.filter(pk=run.pk).update(counted=None, tasks=0, figures={}, contents={})
    card = world.client("viewer").get(f"/api/v1/runs/{run.pk}/card").json()
    assert_documented(RunCard, card)
    assert (card["is_counted"], card["tasks"], card["workers"], card["times"]) == (False, None, None, [])
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    [start, _] = page.split("</section>", 1)
    assert start.count("counting …") == 3
    assert "<dd>0</dd>" not in start
    assert 'data-refresh="5"' in page


def test_a_link_shows_of_the_card_what_it_shares(world: World, run: Run) -> None:
    earlier(run, [10.0, 10.1, 9.9])
    author = User.objects.create_user("jane")
    answers = {}
    for shares in (False, True):
        shown = {"shows_code": shares, "shows_tracebacks": shares}
        link = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE, **shown), author)
        client = world.client("anonymous")
        card = client.get(f"/api/v1/r/{link.token}/card").json()
        assert_documented(RunCard, card)
        assert (card["user"], card["tags"], card["notes"], card["history"]) == ("", {}, [], None)
        assert card["tasks"] == 120
        page = client.get(f"/r/{link.token}").content.decode()
        answers[shares] = f"{card}{page}"
        for secret in (SECRET, "lovelace", "look here", "3f2a1c", "editor", "usual"):
            assert secret not in answers[shares], secret
    for text in ("ValueError", "load.compute()", "with observatory.run"):
        assert text not in answers[False]
        assert text in answers[True]


def test_who_is_no_member_gets_no_card(world: World, run: Run) -> None:
    assert world.client("outsider").get(f"/api/v1/runs/{run.pk}/card").status_code == 404
