"""Runs, clusters, findings and comparisons as notebooks show them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

from observatory.client import ObservatoryClient
from observatory.clusters.accounts.models import Membership
from observatory.clusters.tokens import access_tokens
from observatory.pages.notebook.small_task_stream import MOST_COLUMNS, MOST_ROWS
from observatory.runs.models import Run
from tests.client.notebooks import execute
from tests.support.observed_cluster import Observed
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import at
from tests.why.findings.simulated import Simulated, Task, futures

ALLOWED = {
    *("div", "span", "strong", "a", "ol", "ul", "li", "code", "svg", "path", "title"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
"""elements; none of them runs or loads anything"""
ESCAPE = "\x1b[31m"


class Elements(HTMLParser):
    """The elements of a text, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_harmless(html: str, url: str) -> None:
    """`html` works in a saved notebook: it loads nothing, runs nothing, and links to `url` alone."""
    for tag, attributes in Elements(html).found:
        assert tag in ALLOWED, tag
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "id", "class")]
        if tag == "a":
            assert str(attributes["href"]).startswith((url, "https://")), attributes["href"]
        assert "url(" not in (attributes.get("style") or "")


@pytest.fixture
def secret(world: World) -> str:
    return access_tokens.make(world.people["viewer"], "notebook", None)[1]


@pytest.fixture
def client(world: World, live_server: Any, secret: str) -> ObservatoryClient:
    return ObservatoryClient(live_server.url, secret)


@pytest.fixture
def slow(world: World, live_server: Any) -> Iterator[Run]:
    """A run with a straggler; its name, the key and the cluster's name are hostile."""
    cluster = Simulated([*futures(60, 0.5), Task(f"work-{HOSTILE}{ESCAPE}", 9)]).record()
    cluster.name = f"cluster {HOSTILE}"
    cluster.save()
    Membership.objects.create(project=cluster.project, user=world.people["viewer"])
    return Run.objects.create(
        cluster=cluster,
        name=f"etl {HOSTILE}{ESCAPE}",
        origin="code",
        outcome="finished",
        start=at(0),
        stop=at(20),
    )


def test_a_run_shows_its_state_main_finding_task_stream_and_link(
    client: ObservatoryClient, slow: Run
) -> None:
    run = client.run(slow.pk)
    shown = run._repr_mimebundle_()
    html, text = shown["text/html"], shown["text/plain"]
    assert "finished" in html
    assert "Main finding:</strong> 1 task of work took 9.00 s" in html
    assert f'href="{run.url}"' in html
    assert "<svg" in html
    assert re.findall(r'<path fill="#\w+" d="M', html)
    assert_harmless(html, client._connection.url)
    assert "&lt;img src=x" in html
    assert f"Run “etl {HOSTILE}" in text
    assert "Main finding: 1 task of work took 9.00 s" in text
    assert run.url in text
    assert ESCAPE not in text


def test_ipython_shows_it_as_html_and_as_text(client: ObservatoryClient, slow: Run, live_server: Any) -> None:
    for shown in (client.run(slow.pk), client.findings(slow.pk), client.cluster(slow.cluster_id)):
        data, _ = DisplayFormatter().format(shown)
        assert {"text/html", "text/plain"} <= set(data)
        assert ESCAPE not in data["text/plain"]
        assert live_server.url in data["text/plain"]
        assert_harmless(data["text/html"], client._connection.url)


def test_findings_show_each_sentence_cost_and_advice_and_stay_a_frame(
    client: ObservatoryClient, slow: Run
) -> None:
    findings = client.findings(slow.pk)
    html = findings._repr_html_()
    for sentence, advice in zip(findings["sentence"], findings["advice"], strict=True):
        assert sentence.split("<")[0] in html
        shown = "".join(
            f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(advice.split("`"))
        )
        assert shown in unescape(html)
    assert "of threads" in html
    assert "_output" not in findings.columns
    assert type(findings[findings["thread_seconds"] > 0][["kind"]]).__name__ == "DataFrame"


def test_a_cluster_shows_its_newest_runs(client: ObservatoryClient, slow: Run) -> None:
    cluster = client.cluster(slow.cluster_id)
    html = cluster._repr_html_()
    assert "61 tasks" in html
    assert "etl &lt;img" in html
    assert cluster.url in html


def test_a_comparison_shows_figures_of_both(client: ObservatoryClient, slow: Run) -> None:
    other = Run.objects.create(
        cluster=slow.cluster, name=slow.name, origin="code", outcome="finished", start=at(20), stop=at(21)
    )
    run = client.run(other.pk)
    for comparison in (run.compare(slow.pk), run.compare(client.run(slow.pk)), run.compare(last=1)):
        assert comparison["b"][0]["id"] == slow.pk
        html = comparison._repr_html_()
        assert "20.0 s" in html
        assert html.count(" UTC") == (2 if comparison._last is None else 1)
        assert comparison.url.replace("&", "&amp;") in html
        assert_harmless(html, client._connection.url)
        assert "&lt;img" in html
    with pytest.raises(ValueError, match="give another run"):
        run.compare()


def test_a_run_of_many_workers_has_a_small_picture(client: ObservatoryClient, world: World) -> None:
    tasks = [Task(f"work{number % 30}-{number}", 0.5) for number in range(900)]
    cluster = Simulated(tasks, workers=90).record()
    Membership.objects.create(project=cluster.project, user=world.people["viewer"])
    run = Run.objects.create(cluster=cluster, name="wide", origin="cut", start=at(0), stop=at(20))
    html = client.run(run.pk)._repr_html_()
    assert "Task stream of 90 workers" in html
    assert html.count("M") < MOST_ROWS * 2 * MOST_COLUMNS
    assert len(html) < 100_000
    assert "more</span>" in html


def test_a_run_without_tasks_and_an_open_one_show_what_is_known(
    client: ObservatoryClient, world: World
) -> None:
    html = client.run(world.run.pk)._repr_html_()
    assert "nightly of alpha" in html
    assert "<svg" not in html
    world.run.stop = None
    world.run.save()
    output = client.run(world.run.pk).output.read()
    assert "running" in output["text"]
    assert not output["is_final"]


def test_where_the_server_is_gone_the_run_says_so(client: ObservatoryClient, slow: Run) -> None:
    run, findings = client.run(slow.pk), client.findings(slow.pk)
    run._connection.url = "http://127.0.0.1:9"
    bundle = run._repr_mimebundle_()
    assert "can't be reached" in bundle["text/plain"]
    assert "&lt;img" in bundle["text/html"]
    assert "1 task of work took" in findings._repr_html_()


def test_only_who_may_see_a_run_gets_what_it_shows(world: World, slow: Run) -> None:
    for path in (f"runs/{slow.pk}", f"clusters/{slow.cluster_id}"):
        assert world.client("outsider").get(f"/api/v1/{path}/notebook").status_code == 404
        assert world.client("anonymous").get(f"/api/v1/{path}/notebook").status_code == 401
        assert world.client("viewer").get(f"/api/v1/{path}/notebook").status_code == 200
    assert world.client("outsider").get(f"/api/v1/runs/{slow.pk}/notebook/findings").status_code == 404
    answer = world.client("viewer").get(f"/api/v1/runs/{slow.pk}/notebook/comparison")
    assert answer.status_code == 422


def test_a_real_notebook_keeps_the_output_of_a_real_run(
    observed: Observed, live_server: Any, secret: str, tmp_path: Path
) -> None:
    cells = (
        "from observatory.client import ObservatoryClient\n"
        f"observatory = ObservatoryClient({live_server.url!r}, {secret!r})\n"
        f"run = observatory.run({observed.run.pk})\n"
        "run",
        "observatory.findings(run)",
        f"observatory.cluster({observed.cluster.pk})",
    )
    for [output] in execute(tmp_path, *cells):
        assert output["output_type"] == "execute_result"
        data = output["data"]
        assert_harmless(data["text/html"], live_server.url)
        assert data["text/plain"]
