"""Schemas of marks of findings."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Field, Schema

from observatory.replay.answers.shared_fields import shared

MarkedAs = Literal["known", "wrong"]


class NewFindingMark(Schema):
    """The finding is named as the answer `findings` names it."""

    kind: Annotated[str, Field(max_length=50)] = ""
    prefixes: Annotated[list[int], Field(max_length=20)] = []
    """ids of those that it is about"""
    marked_as: Literal["", "known", "wrong"] = ""
    """required, as the kind"""


@shared("marked_as", "created")
class FindingMarkItem(Schema):
    """That somebody marked a finding in all runs of a name."""

    id: int | None = None
    marked_as: MarkedAs
    by: str | None = None
    """user name; None if the account was deleted"""
    created: float
    """seconds since the epoch"""


class FindingMarkOut(FindingMarkItem):
    id: int
    project: str
    """slug"""
    run_name: str
    kind: str
    prefixes: list[str]
    """names; empty: all"""
    sentence: str
    """the finding in the run in which it was marked"""
    run: int | None
    """in which it was marked; None: deleted"""


class FindingMarkPage(Schema):
    items: list[FindingMarkOut]
    count: int
    page: int
    pages: int


class FindingMarkQuery(Schema):
    project: Annotated[str, Field(max_length=200)] = ""
    """slug"""
    name: Annotated[str, Field(max_length=200)] = ""
    """of runs"""
    format: Literal["json", "csv"] = "json"
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    page_size: Annotated[int, Field(ge=1, le=200)] = 50
