"""Why records were dropped has one declaration, and no page shows a raw word."""

from __future__ import annotations

import json

from observatory.agent.delivery import batch, sender, spool
from observatory.config.contract import constants
from observatory.wire.dropped_records import MISSING, UNDRAWN_SAMPLE, DropReason, dropped_detail
from observatory.wire.kinds import KINDS


def test_every_kind_of_record_has_a_name_for_when_it_is_missing() -> None:
    assert set(MISSING) == {*KINDS, UNDRAWN_SAMPLE}


def test_a_browser_has_the_text_of_every_reason() -> None:
    texts = constants()["DROP_REASONS"][0]
    given = {spool.FULL, spool.DAMAGED, batch.BROKEN, sender.BUFFER_FULL, sender.REFUSED}
    assert given < set(texts) == {reason.value for reason in DropReason}
    assert all(texts.values())


def test_a_detail_says_what_is_missing_and_why_and_is_plain_json() -> None:
    detail = dropped_detail("span", 1234, DropReason.WRONG_CLOCK, 1.0, 2.0)
    assert detail["message"].startswith("1,234 spans were dropped: their times are outside")
    assert json.loads(json.dumps(detail)) == {
        "message": detail["message"],
        "first": 1.0,
        "last": 2.0,
        "kind": "span",
        "count": 1234,
        "reason": "wrong-clock",
    }


def test_reasons_and_kinds_of_another_version_stay_readable() -> None:
    detail = dropped_detail("novelty", 1, "unheard-of", 1.0, 2.0)
    assert detail["message"] == "1 records of kind novelty were dropped: unheard-of"
