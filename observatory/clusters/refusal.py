"""Validation errors in the REST API."""

from __future__ import annotations

from typing import Any

from django import forms
from ninja import Schema, Status


class Refusal(Schema):
    detail: str
    errors: dict[str, list[str]]
    """messages by field; "__all__" for the whole"""


def refusal(errors: dict[str, list[str]]) -> Any:
    """A 422 response with the messages by field."""
    detail = " ".join(message for messages in errors.values() for message in messages)
    return Status(422, {"detail": detail, "errors": errors})


def refused(form: forms.BaseForm) -> Any:
    """A 422 response with the errors of a form."""
    return refusal({field: [str(message) for message in found] for field, found in form.errors.items()})
