"""What assistants are told of P2P shuffles."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from observatory.assistants.texts import Passage
from observatory.assistants.tools.transfers import transfers
from observatory.replay.windows.transfer_schemas import ShuffleProgress
from tests.support.projects import HOSTILE
from tests.support.response_schemas import assert_documented

CODE = f"merged = frame.merge(other, on={HOSTILE!r})  # /code/etl.py:7"
SHUFFLE: dict[str, Any] = {
    "shuffle": "0a1b",
    "name": "merge of timeseries by name",
    "code": CODE,
    "first": 1_780_000_010.0,
    "last": 1_780_000_020.0,
    "amounts": [
        {"medium": "comm", "what": "read", "nbytes": 8e6, "progress": []},
        {"medium": "disk", "what": "limit", "nbytes": 1e9, "progress": []},
    ],
}
NOTHING = {"count": 0, "nbytes": 0, "seconds": 0.0}


class Told:
    """An API that answers with prepared documents."""

    url = "https://observatory.example.org"

    async def get(self, path: str, parameters: Mapping[str, Any]) -> bytes:
        moved = {"places": [], "cells": [], "total": NOTHING, "largest": [], "outcomes": {}, "steals": []}
        answers: dict[str, Any] = {
            "/runs/1": {"id": 1, "start": 1_780_000_000.0},
            "/runs/1/timeline/transfers": {**moved, "shuffles": [SHUFFLE]},
            "/runs/1/timeline/stolen": {"total": 0, "tasks": []},
            "/runs/1/timeline/lanes": {"workers": []},
        }
        return json.dumps(answers[path]).encode()


def test_a_shuffle_has_its_name_and_the_line_that_submitted_it() -> None:
    assert_documented(ShuffleProgress, SHUFFLE)
    answer = asyncio.run(transfers(Told(), 1))
    [shuffle] = answer.recorded["shuffles"]
    assert (shuffle["name"], shuffle["code"]) == (SHUFFLE["name"], CODE)
    assert isinstance(shuffle["code"], Passage)
    assert shuffle["comm_read_bytes"] == 8e6
