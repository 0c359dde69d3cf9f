"""Answers in JSON say what Django's own encoder says, and everything that is recorded can be said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from ninja.responses import NinjaJSONEncoder

from observatory.base.api_response import ApiResponse, encode_json


class Color(StrEnum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    "data",
    [
        {"key": "<img onerror=…>", "text": "\x00\u2028😀", 7: None, "nested": [(1, 2.5), {"a": True}]},
        {"time": datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)},
        {"color": Color.RED, "number": Number.ONE},
        {"recorded": 2**70, "small": -(2**63)},
        {"surrogate": "\ud800"},
        [1e22, 1e-7, 0.1 + 0.2, -0.0],
    ],
)
def test_an_answer_says_what_djangos_encoder_says(data: Any) -> None:
    expected = json.loads(json.dumps(data, cls=NinjaJSONEncoder))
    response = ApiResponse(data)
    assert json.loads(response.content) == expected
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_in_json_is_null(value: float) -> None:
    assert encode_json({"value": value}) == b'{"value":null}'


def test_what_cannot_be_said_in_json_is_an_error() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        encode_json({"value": object()})
