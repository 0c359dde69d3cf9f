"""Form fields for amounts with units."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from observatory.alerts.rules.amounts import AmountError, format_amount, parse_amount

MAX_LENGTH = 40


class DurationField(forms.CharField):
    """Seconds, entered as 90, 90 s or 1 min 30 s."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MAX_LENGTH, **options)

    def prepare_value(self, value: Any) -> Any:
        return format_amount(value, "seconds") if isinstance(value, int | float) else value

    def clean(self, value: Any) -> float | None:
        text = super().clean(value)
        return amount_of(text, "seconds") if text else None

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return initial is None or parse_amount(data or "", "seconds") != initial
        except AmountError:
            return True


def amount_of(text: str, unit: str) -> float:
    """Raises ValidationError."""
    try:
        return parse_amount(text, unit)
    except AmountError as error:
        raise ValidationError(str(error)) from None
