"""What the REST API answers where a form, or what was sent in its place, is refused."""

from __future__ import annotations

from typing import Any

from django import forms
from ninja import Schema, Status


class Refusal(Schema):
    detail: str
    errors: dict[str, list[str]]
    """of each field; "__all__" of the whole"""


def refusal(errors: dict[str, list[str]]) -> Any:
    """422, and why: the messages of each field."""
    detail = " ".join(message for messages in errors.values() for message in messages)
    return Status(422, {"detail": detail, "errors": errors})


def refused(form: forms.BaseForm) -> Any:
    """422, and why the form is refused."""
    return refusal({field: [str(message) for message in found] for field, found in form.errors.items()})
