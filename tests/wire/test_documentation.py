"""docs/wire-format.md and docs/metrics.md are what their scripts write from the code."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from observatory.wire.head import Head
from observatory.wire.kind import Type
from observatory.wire.kinds import KINDS
from tests.docs.scripts import load_script

ROOT = Path(__file__).parents[2]


def test_the_page_tells_every_kind_and_field_with_its_unit() -> None:
    page = (ROOT / "docs/wire-format.md").read_text()
    assert page == load_script("make_wire_format").page(), "run docs/scripts/make_wire_format.py"
    for kind in KINDS.values():
        section = page.split(f"\n## {kind.name}\n")[1].split("\n## ")[0]
        for field in kind.fields:
            unit = "" if field.type is Type.TIME or not field.unit else f", {field.unit}"
            optional = ", optional" if field.is_optional else ""
            assert f"\n- `{field.name}` ({field.type.label}{unit}{optional}): {field.meaning}\n" in section
            assert field.meaning
            assert field.source


def test_the_head_is_told_field_by_field() -> None:
    names = [field.name for field in fields(Head) if field.name != "version"]
    assert list(load_script("make_wire_format").HEAD_FIELDS) == ["version", *names]


def test_types_are_told_apart_by_what_they_hold() -> None:
    assert len({type.value for type in Type}) == len(Type) == 10


def test_the_page_of_metrics_is_up_to_date() -> None:
    assert (ROOT / "docs/metrics.md").read_text() == load_script("make_metrics").page(), (
        "run docs/scripts/make_metrics.py"
    )
