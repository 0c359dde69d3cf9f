"""Each question of docs/dashboards.md is answered from a run's page in as many clicks as are named there.

One recording of a real cluster answers all of them, when the cluster is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.questions.answers import ANSWERS
from tests.browser.questions.recorded import Recorded
from tests.browser.questions.visitor import Visitor
from tests.support.chromium import TIMEOUT
from tests.support.dashboards import QUESTIONS

pytestmark = pytest.mark.browser

MOST_CLICKS = 3


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
