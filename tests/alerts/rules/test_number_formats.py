"""Values in the formats of Prometheus' template functions."""

from __future__ import annotations

import pytest

from observatory.alerts.rules.number_formats import format_as, is_format


@pytest.mark.parametrize(
    ("value", "name", "text"),
    [
        (0, "humanize", "0"),
        (1234567, "humanize", "1.235M"),
        (-999, "humanize", "-999"),
        (0.02, "humanize", "20m"),
        (1e30, "humanize", "1e+06Y"),
        (4 * 2**30, "humanize1024", "4Gi"),
        (1000, "humanize1024", "1000"),
        (0.5, "humanize1024", "0.5"),
        (0.953, "humanizePercentage", "95.3%"),
        (0, "humanizeDuration", "0s"),
        (0.02, "humanizeDuration", "20ms"),
        (12.5, "humanizeDuration", "12.5s"),
        (90, "humanizeDuration", "1m 30s"),
        (-3600, "humanizeDuration", "-1h 0m 0s"),
        (90061, "humanizeDuration", "1d 1h 1m 1s"),
        (3.14159, "%.2f", "3.14"),
        (3.7, "%d", "4"),
        (3.7, "%5.1f", "  3.7"),
        (1e21, "%v", "1e+21"),
        (float("nan"), "humanize", "NaN"),
        (float("inf"), "humanizeDuration", "+Inf"),
        (float("-inf"), "%.1f", "-Inf"),
        (None, "humanize", "–"),
    ],
)
def test_a_value_is_formatted_as_prometheus_does(value: float | None, name: str, text: str) -> None:
    assert is_format(name)
    assert format_as(value, name) == text


@pytest.mark.parametrize("name", ["", "humanise", "%s", "%", "%999f", "%.9999f", "%.2f%.2f", "x%f"])
def test_other_formats_are_rejected(name: str) -> None:
    assert not is_format(name)
