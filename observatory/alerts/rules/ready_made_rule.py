"""The type of ready-made rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from observatory.alerts.models import Severity
from observatory.alerts.rules.conditions import AnyCondition, NoData


@dataclass(frozen=True, slots=True)
class ReadyMade:
    key: str
    name: str
    severity: Severity
    description: str
    """what it means, and what it needs"""
    advice: str
    message: str
    conditions: tuple[AnyCondition, ...]
    hold: float = 0.0
    no_data: NoData = NoData.RESOLVE

    def fields(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "severity": self.severity,
            "description": self.description,
            "advice": self.advice,
            "message": self.message,
            "hold_seconds": self.hold,
            "no_data": self.no_data,
        }
