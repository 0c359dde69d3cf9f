"""Python and JavaScript write numbers, durations and sizes alike: both pass the same table of examples."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from observatory.clusters.formatting import format_age, format_points, format_value

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES: dict[str, list[tuple[float, str]]] = json.loads((ROOT / "tests" / "formatting.json").read_text())
SCRIPT = """
const { formatPoints, formatValue } = await import(process.argv[1]);
const examples = JSON.parse(process.argv[2]);
const format = (unit, value) => (unit === "points" ? formatPoints(value) : formatValue(value, unit));
const texts = Object.entries(examples).flatMap(([unit, rows]) => rows.map(([value]) => format(unit, value)));
console.log(JSON.stringify(texts));
"""


@pytest.mark.parametrize(
    ("unit", "value", "text"), [(unit, *example) for unit, rows in EXAMPLES.items() for example in rows]
)
def test_python_writes_each_example_as_the_table_says(unit: str, value: float, text: str) -> None:
    written = format_points(value) if unit == "points" else format_value(value, unit)

    assert written == text


def test_javascript_writes_each_example_as_the_table_says() -> None:
    module = (ROOT / "frontend" / "formatting.js").as_uri()
    arguments: list[Any] = ["node", "--input-type=module", "-e", SCRIPT, module, json.dumps(EXAMPLES)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=True)

    assert json.loads(done.stdout) == [text for rows in EXAMPLES.values() for _, text in rows]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s ago"), (14.4, "14 s ago"), (151, "2 min ago"), (7300, "2 h ago"), (90_061, "1 d ago")],
)
def test_an_age_is_written_in_its_largest_unit(seconds: float, text: str) -> None:
    assert format_age(seconds) == text


def test_a_value_that_is_not_known_is_a_dash() -> None:
    assert format_value(None, "seconds") == format_value(float("nan"), "bytes") == "–"
