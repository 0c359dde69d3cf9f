"""What schedulers send is read as Python's json reads it."""

from __future__ import annotations

import json
import math

import pytest

from observatory.collect.http.json_body import read_json


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2.5, null, true, "\\u00e9"], "a": "last"}',
        '{"name": 340282366920938463463374607431768211455, "memory": 9223372036854775808}',
        '{"cpu": Infinity, "memory": -Infinity}',
        '"\\ud800"',
    ],
)
def test_values_are_those_of_json(text: str) -> None:
    assert read_json(text.encode()) == json.loads(text)


def test_a_heartbeat_with_what_json_does_not_have_is_read() -> None:
    assert math.isnan(read_json(b'{"workers": {"cpu": NaN}}')["workers"]["cpu"])


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b"\xff", b"[" * 100_000])
def test_other_texts_are_refused(body: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        read_json(body)
