from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.assistants.assistant import site
from tests.support.observed_cluster import agent_server, observed
from tests.support.projects import world

__all__ = ["agent_server", "observed", "world"]


@pytest.fixture
def url(transactional_db: None) -> Iterator[str]:
    with site() as url:
        yield url
