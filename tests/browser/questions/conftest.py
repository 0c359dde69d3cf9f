from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.questions.recorded import Recorded, record

pytest.register_assert_rewrite("tests.browser.questions.answers", "tests.browser.questions.assistant_answers")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with record(tmp_path_factory.mktemp("observatory"), tmp_path_factory.mktemp("cluster")) as recorded:
        yield recorded
