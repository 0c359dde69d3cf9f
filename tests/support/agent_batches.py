"""What a real agent reported to a fake server, stored by the real ingest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.test import Client


def store_batches(bodies: Iterable[bytes], secret: str) -> list[dict[str, Any]]:
    """Send bodies with an ingest token; returns the answers."""
    answers = []
    for body in bodies:
        answer = Client().post(
            "/api/v1/ingest",
            body,
            content_type="application/octet-stream",
            headers={"Authorization": f"Bearer {secret}"},
        )
        assert answer.status_code == 200, answer.content
        answers.append(answer.json())
    return answers
