"""Spans that become columns while they come."""

from __future__ import annotations

import random

import pytest

from observatory.store.ingest.batches.batch import BatchBuilder
from observatory.store.ingest.batches.growing_columns import SPANS_OF_PART, SpanColumns
from observatory.wire.records import Action, Span, Status

NOW = 1_700_000_000.0


def spans(count: int) -> list[Span]:
    chosen = random.Random(count)
    return [
        Span(
            f"tcp://127.0.0.1:{chosen.randrange(3)}",
            chosen.randrange(4),
            f"inc-{number}",
            "inc",
            f"inc-{number % 2}",
            chosen.choice(list(Action)),
            NOW + number,
            NOW + number + 0.5,
            number,
            chosen.choice(["int", "str"]),
            chosen.choice(list(Status)),
        )
        for number in range(count)
    ]


def columns(some: list[Span]) -> SpanColumns:
    found = SpanColumns()
    for span in some:
        found.append(span)
    return found


@pytest.mark.parametrize(
    "count", [1, SPANS_OF_PART - 1, SPANS_OF_PART, 2 * SPANS_OF_PART, 2 * SPANS_OF_PART + 7]
)
def test_the_columns_have_every_span_in_its_order(count: int) -> None:
    some = spans(count)
    found = columns(some)
    assert len(found) == count
    assert found.stops == [span.stop for span in some]
    records = found.records()
    assert records.keys().per_row() == [span.key for span in some]
    names = records.keys().names
    assert names.per_row() == [(span.prefix, span.group) for span in some]
    for name in ("worker", "typename"):
        assert records.coded(name).per_row() == [getattr(span, name) for span in some]
        assert len(set(records.coded(name).values)) == len(records.coded(name).values)
    assert len(set(names.values)) == len(names.values)
    for name in ("thread", "action", "start", "stop", "nbytes", "status"):
        assert records.numbers(name).tolist() == [getattr(span, name) for span in some]


def test_a_span_with_a_number_beyond_64_bits_is_refused_and_no_other() -> None:
    some = spans(2 * SPANS_OF_PART + 7)
    for place in (3, 2 * SPANS_OF_PART + 1):
        some[place] = some[place]._replace(nbytes=2**70)
    builder = BatchBuilder(1)
    for span in some:
        builder.add(span)
    assert len(builder) == len(some)
    assert builder.batch.refused == 2
    good = [span.key for span in some if span.nbytes < 2**70]
    assert builder.batch.records["span"].keys().per_row() == good


def test_dropped_spans_leave_nothing() -> None:
    found = columns(spans(SPANS_OF_PART + 1))
    found.clear()
    assert (len(found), found.stops) == (0, [])
