"""Who reads entries in the order of their numbers misses none, in whatever order transactions commit."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from observatory.clusters.models import AuditEntry
from observatory.store.audit.entries import newest_settled
from observatory.store.connection import connect

pytestmark = pytest.mark.django_db(transaction=True)
INSERT = "INSERT INTO auth_group (name) VALUES (%s)"


@pytest.fixture
def others() -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with connect() as first, connect() as second:
        yield first, second


def test_entries_of_a_transaction_that_is_not_over_hold_back_the_later_ones(
    others: tuple[psycopg.Connection, psycopg.Connection],
) -> None:
    slow, quick = others
    with quick.transaction():
        quick.execute(INSERT, ["before"])
    first = AuditEntry.objects.get().pk
    assert newest_settled() >= first
    with slow.transaction():
        slow.execute(INSERT, ["slow"])
        with quick.transaction():
            quick.execute(INSERT, ["quick"])
        [_, later] = AuditEntry.objects.order_by("pk").values_list("pk", flat=True)
        assert first <= newest_settled() < later
    assert newest_settled() >= later
    subjects = list(AuditEntry.objects.order_by("pk").values_list("subject", flat=True))
    assert subjects == ["before", "slow", "quick"]


def test_a_transaction_that_is_taken_back_holds_nothing_back(
    others: tuple[psycopg.Connection, psycopg.Connection],
) -> None:
    failing, quick = others
    with failing.transaction(force_rollback=True):
        for number in range(50):
            with failing.transaction(force_rollback=number % 2 == 0):  # a savepoint
                failing.execute(INSERT, [f"taken back {number}"])
    with quick.transaction():
        quick.execute(INSERT, ["quick"])
    assert AuditEntry.objects.get().pk <= newest_settled()
