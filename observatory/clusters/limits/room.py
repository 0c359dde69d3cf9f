"""Limits how many rows people and their programs may make, where nothing else does."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet


def require_room(rows: QuerySet[Any], most: int, owner: str, what: str, remedy: str = "Delete") -> None:
    """Raises ValidationError if there is no room for another row."""
    if rows.count() >= most:
        raise ValidationError(f"{owner} has {most} {what}, the maximum. {remedy} one first.")
