"""Each question of docs/dashboards.md is answered from a run's page in as many clicks as are named there.

One recording of a real cluster answers all of them, when the cluster is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import made_observatory
from tests.browser.observatory import Observatory
from tests.browser.questions import recording
from tests.browser.questions.answers import ANSWERS
from tests.browser.questions.recording import Known
from tests.browser.questions.visitor import Visitor
from tests.support.chromium import TIMEOUT
from tests.support.dashboards import QUESTIONS

pytestmark = pytest.mark.browser

COUNT = "from observatory.runs.tasks import count_usage, find_runs; find_runs(); count_usage()"
MOST_CLICKS = 3


@dataclass(frozen=True)
class Recorded:
    observatory: Observatory
    known: Known
    run: str
    """the address of its page"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with made_observatory(tmp_path_factory.mktemp("observatory")) as observatory:
        observatory.start()
        token = observatory.manage("ingest_token", "default").strip()
        known = recording.record(observatory, token, tmp_path_factory.mktemp("cluster"))
        observatory.manage("shell", "--command", COUNT)
        price = f"thread_hour_price = {recording.PRICE}, currency = 'EUR'"
        assert observatory.rows(f"UPDATE clusters_project SET {price} RETURNING id")
        newest = f"SELECT id FROM runs_run WHERE name = '{recording.NAME}' ORDER BY start DESC LIMIT 1"
        yield Recorded(observatory, known, f"{observatory.url}/runs/{observatory.query(newest)}/")


@pytest.fixture(scope="module")
def page(chromium: Browser, recorded: Recorded) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    recorded.observatory.sign_in(page)
    yield page
    context.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_in_the_clicks_that_the_documents_name(
    question: str, page: Page, recorded: Recorded
) -> None:
    visitor = Visitor(page, recorded.run)
    visitor.start()
    ANSWERS[question](visitor, recorded.known)
    assert (min(visitor.answered), max(visitor.answered)) == QUESTIONS[question]
    assert max(visitor.answered) <= MOST_CLICKS


def test_each_answer_is_to_a_question_of_the_documents() -> None:
    assert set(ANSWERS) == set(QUESTIONS)
