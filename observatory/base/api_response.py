"""Answers of the API as JSON: those of a thousand workers are megabytes of it."""

from __future__ import annotations

import json
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from ninja.renderers import BaseRenderer
from ninja.responses import NinjaJSONEncoder

CONTENT_TYPE = "application/json"
OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME

_encoder = NinjaJSONEncoder()


def encode_json(data: Any) -> bytes:
    """Encode what NinjaJSONEncoder encodes; a number that is infinite or none is null. Raises TypeError."""
    try:
        return orjson.dumps(data, default=_encoder.default, option=OPTIONS)
    except TypeError:  # a recorded integer of over 64 bits
        return json.dumps(data, cls=NinjaJSONEncoder).encode()


class ApiResponse(HttpResponse):
    """An answer as it is, without the validation that an operation's schema would take."""

    def __init__(self, data: Any, **options: Any) -> None:
        super().__init__(encode_json(data), content_type=CONTENT_TYPE, **options)


class ApiRenderer(BaseRenderer):
    """For NinjaAPI: encodes what operations return."""

    media_type = CONTENT_TYPE

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return encode_json(data)
