"""A field of an answer, of a tile or of an event is hidden on public links until it is listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from ninja import Schema

from observatory.clusters.models import Cluster
from observatory.config.api import api
from observatory.replay.answers.router import AnswerRouter
from observatory.replay.answers.shared_fields import is_shown, shared, shown
from observatory.replay.scope import ALL_SECTIONS, Scope, Section
from observatory.replay.tiles.clipping import shared_block
from observatory.replay.tiles.events import shown_events
from observatory.wire.blocks import decode, encode, number_column
from observatory.wire.event_kinds import EVENT_KINDS
from observatory.wire.timeline_blocks import KINDS

NONE: frozenset[Section] = frozenset()
WHOLE = Scope(Cluster())
UNLISTED = {
    "ClusterInfo": {
        *("id", "project", "target", "scheduler_id", "address", "not_recorded", "worker_count", "unheard"),
    },
    "TimelineWorker": {"tags"},
    "EnvironmentFact": {"scheduler", "client"},
    "TimelineAlerts": {"rules"},
    "TimelineAlert": {"id", "worker", "labels", "message", "text", "acknowledged_by", "acknowledgement"},
    "FindingMarkItem": {"id", "by"},
    "RunCard": {"user", "tags", "main_finding", "cost", "batch_jobs", "history", "notes"},
}
"""what no public link shows of the schemas of its answers"""


def link(sections: frozenset[Section] = NONE) -> Scope:
    return Scope(Cluster(), start=10_000_000, stop=20_000_000, sections=sections, is_public=True)


@shared("number", code=Section.CODE)
class Part(Schema):
    number: int
    code: str
    new: str = "usual"


@shared("part", "parts", "named", "maybe")
class Whole(Schema):
    part: Part
    parts: list[Part]
    named: dict[str, list[Part]]
    maybe: Part | None
    text: str
    items: list[int]
    object: dict[str, int]
    nullable: float | None
    number: float


def test_only_listed_fields_are_shown_and_hidden_ones_are_empty() -> None:
    part = {"number": 1, "code": "x = 1", "new": "secret", "undeclared": "secret"}
    document = {
        "part": part,
        "parts": [part],
        "named": {"a": [part]},
        "maybe": None,
        "text": "secret",
        "items": [1],
        "object": {"secret": 1},
        "nullable": 1.0,
        "number": 1.0,
    }
    hidden: dict[str, Any] = {"text": "", "items": [], "object": {}, "nullable": None}
    for sections, code in ((NONE, ""), (frozenset({Section.CODE}), "x = 1")):
        seen = {"number": 1, "code": code}
        assert shown(link(sections), Whole, document) == {
            "part": seen,
            "parts": [seen],
            "named": {"a": [seen]},
            "maybe": None,
            **hidden,
        }
        assert shown(link(sections), list[Whole], [document])[0]["maybe"] is None
    assert shown(WHOLE, Whole, document) is document


def test_a_schema_without_a_list_shows_nothing_and_a_wrong_name_is_an_error() -> None:
    class Unlisted(Schema):
        number: int
        text: str

    assert shown(link(), Unlisted, {"number": 1, "text": "secret"}) == {"text": ""}
    with pytest.raises(TypeError, match="Unlisted has no field other"):
        shared("other")(Unlisted)
    with pytest.raises(TypeError, match="no schema"):
        shown(link(), None, {"text": "secret"})


def routes() -> Iterator[tuple[str, Any, Any]]:
    """The path, the router and the schema of each route of a public link; None: its answer is no document."""
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            if "{token}" in f"{prefix}{path}" and "/r/" in f"{prefix}{path}":
                for operation in view.operations:
                    model = operation.response_models[200]
                    has_schema = hasattr(model, "model_fields")
                    schema = model.model_fields["response"].annotation if has_schema else None
                    yield f"{prefix}{path}", router, schema


def schemas(annotation: Any) -> Iterator[type[Schema]]:
    if isinstance(annotation, type) and issubclass(annotation, Schema):
        yield annotation
        for field in annotation.model_fields.values():
            yield from schemas(field.annotation)
    for argument in get_args(annotation):
        yield from schemas(argument)


def test_each_route_of_a_link_answers_with_the_listed_fields_of_its_schema() -> None:
    found = list(routes())
    assert len(found) > 25
    for path, router, schema in found:
        assert isinstance(router, AnswerRouter), path
        is_binary = path.endswith(("/tiles", "/tiles/{layer}/{level}/{index}", "/stacks"))
        assert (schema is None) is is_binary, path


def test_what_no_link_shows_is_known() -> None:
    """Whoever adds a field lists it beside its schema, or here."""
    unlisted: dict[str, set[str]] = {}
    for _, _, answer in routes():
        for schema in schemas(answer):
            hidden = {name for name in schema.model_fields if not is_shown(schema, name, ALL_SECTIONS)}
            if hidden and schema.__name__ not in HIDDEN_WHOLE:
                unlisted[schema.__name__] = hidden
    assert unlisted == UNLISTED


HIDDEN_WHOLE = {
    *("ProjectName", "TargetStatus", "RuleText", "MainFinding", "CardHistory", "UnusualFigure"),
    *("CardNote", "CardCost", "CardBatchJobs", "CardBatchJob", "CardRequest", "CardRecommended"),
}
"""schemas of fields that no link shows"""


def test_a_new_column_or_name_of_the_meta_of_a_tile_is_hidden() -> None:
    columns = [number_column(name, "u32", [1]) for name in ("bin", "new")]
    [block] = decode(encode("busy", 1, columns, {"level": 20, "new": "secret"}))
    found = shared_block(block)
    assert list(found.columns) == ["bin"]
    assert found.meta == {"level": 20}
    for kind in KINDS.values():
        known = {column.name for column in kind.columns} | set(kind.meta)
        assert set(kind.shared) <= known, kind.name


def test_of_an_event_a_link_shows_the_listed_items_with_times_in_the_window() -> None:
    detail = {
        "message": "secret",
        "first": 3.0,
        "last": 33.0,
        "kind": "span",
        "count": 7,
        "reason": "damaged",
        "new": "secret",
    }
    row = (12.0, 1, "records-dropped", "secret", json.dumps(detail))
    for scope in (link(), link(ALL_SECTIONS)):
        [(time, worker, kind, message, found)] = shown_events([row], scope)
        assert (time, worker, kind, message) == (
            12.0,
            1,
            row[2],
            "records were dropped before they were stored",
        )
        listed = {**detail, "message": message, "first": 10.0, "last": 20.0}
        del listed["new"]
        assert json.loads(found) == listed
    assert list(shown_events([row], WHOLE)) == [row]


@pytest.mark.parametrize(
    ("kind", "detail", "items"),
    [
        ("worker-status", {"before": "running", "status": "secret"}, {"before": "running"}),
        ("worker-lost", {"reason": "lost", "stimulus": "secret"}, {"reason": "lost"}),
        ("tasks-erred", {"count": "secret"}, {}),
        ("tasks-erred", {"count": True}, {}),
        ("not-observed", {"first": "secret", "last": 12, "reason": "secret"}, {"last": 12}),
        ("topic", {"topic": "secret", "event": {"secret": 1}}, {}),
        ("cluster-ended", {"reason": "secret"}, {}),
    ],
)
def test_an_item_of_an_event_is_shown_if_it_is_of_its_type(
    kind: str, detail: dict[str, Any], items: dict[str, Any]
) -> None:
    [event] = shown_events([(12.0, -1, kind, "secret", json.dumps(detail))], link())
    assert event[3] == EVENT_KINDS[kind].label
    assert json.loads(event[4]) == {"message": EVENT_KINDS[kind].label, **items}


def test_a_link_with_logs_and_tracebacks_shows_messages_and_texts_and_one_of_both_does_not() -> None:
    detail = {"message": "said", "topic": "mine", "event": {"a": 1}, "new": "secret"}
    row = (12.0, -1, "topic", "said", json.dumps(detail))
    [(*_, message, found)] = shown_events([row], link(frozenset({Section.LOGS, Section.TRACEBACKS})))
    assert (message, json.loads(found)) == ("said", {"message": "said", "topic": "mine", "event": {"a": 1}})
    for section in Section:
        [(*_, message, found)] = shown_events([row], link(frozenset({section})))
        assert json.loads(found) == {"message": message}
    unknown = (12.0, -1, "of a later version", "said", "{}")
    assert list(shown_events([unknown], link(ALL_SECTIONS))) == []
