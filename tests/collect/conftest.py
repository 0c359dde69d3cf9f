from __future__ import annotations

import pytest
from django.db import connection


@pytest.fixture
def store(transactional_db: None) -> None:
    """An empty store. The collector writes through connections of its own: everything is committed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE span, sample, event, worker, lane, series, extent, prefix, task_group, typename"
        )
