"""Each question of docs/dashboards.md is answered from the tools of assistants, in a few calls each."""

from __future__ import annotations

import pytest

from tests.assistants.assistant import Assistant
from tests.browser.questions import recording
from tests.browser.questions.assistant_answers import ANSWERS
from tests.browser.questions.recorded import Recorded
from tests.support.dashboards import QUESTIONS

MOST_CALLS = 6
TOKEN = """
from django.contrib.auth.models import User
from observatory.clusters.tokens import access_tokens
admin = User.objects.filter(is_superuser=True).first() or User.objects.create_superuser("assistant")
print(access_tokens.make(admin, "assistant", None)[1])
"""


@pytest.fixture(scope="module")
def token(recorded: Recorded) -> str:
    return recorded.observatory.manage("shell", "--verbosity", "0", "--command", TOKEN).strip()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_from_tools_alone_in_a_few_calls(
    question: str, recorded: Recorded, token: str
) -> None:
    assistant = Assistant(recorded.observatory.url, token)
    newest = assistant.data("find_runs", name=recording.NAME)["runs"][0]
    ANSWERS[question](assistant, recorded.known, newest["run"])
    assert len(assistant.calls) <= MOST_CALLS


def test_each_answer_is_to_a_question_of_the_documents() -> None:
    assert set(ANSWERS) == set(QUESTIONS)
