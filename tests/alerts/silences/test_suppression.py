from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from observatory.alerts.models import Alert, MaintenanceWindow, Silence
from observatory.alerts.silences.maintenance import is_ongoing, occurrence
from observatory.alerts.silences.suppression import Suppressions
from observatory.alerts.web.acknowledgement import acknowledge
from tests.alerts.notifying.conftest import Fire, fire, rule, world
from tests.support.projects import World

__all__ = ["fire", "rule", "world"]

MONDAY = datetime(2026, 3, 2, 22, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def suppressed(alert: Alert, at: datetime) -> str:
    return Suppressions(at).reason(alert)


def silence(matchers: str, starts: datetime = MONDAY, hours: float = 2) -> Silence:
    return Silence.objects.create(
        matchers=matchers, starts=starts, expires=starts + timedelta(hours=hours), comment="we know"
    )


@pytest.mark.parametrize(
    ("matchers", "covers"),
    [
        ('rule="Worker lost"', True),
        ('alertname="Worker lost"', True),
        ('rule="Worker"', False),
        ('cluster=~"morn.*", severity="critical"', True),
        ('cluster=~"morn"', False),
        ('worker="w1"', True),
        ('worker!="w1"', False),
        ('project="alpha", target="analysis"', True),
        ('project="beta"', False),
        ('nonsense="x"', False),
    ],
)
def test_a_silence_suppresses_the_alerts_that_it_matches(fire: Fire, matchers: str, covers: bool) -> None:
    alert = fire()
    silence(matchers)
    assert suppressed(alert, MONDAY) == ("silence “we know”" if covers else "")


def test_a_silence_is_in_effect_from_its_start_until_it_expires(fire: Fire) -> None:
    alert = fire()
    silence('rule="Worker lost"')
    found = [bool(suppressed(alert, MONDAY + hours * HOUR)) for hours in (-0.01, 0, 1.99, 2)]
    assert found == [False, True, True, False]


def test_a_silence_of_a_project_suppresses_no_alert_of_another(fire: Fire, world: World) -> None:
    here, there = fire(), fire(cluster=world.elsewhere)
    silence('rule="Worker lost"').projects.add(world.alpha)
    assert suppressed(here, MONDAY)
    assert not suppressed(there, MONDAY)


def test_a_silence_with_invalid_matchers_suppresses_nothing(fire: Fire) -> None:
    alert = fire()
    silence('rule=~"("')
    silence("")
    assert not suppressed(alert, MONDAY)


def maintenance(repeat: str = "never", hours: float = 3) -> MaintenanceWindow:
    stops = MONDAY + timedelta(hours=hours)
    return MaintenanceWindow.objects.create(name="upgrade", starts=MONDAY, stops=stops, repeat=repeat)


@pytest.mark.parametrize(
    ("repeat", "after", "is_on"),
    [
        ("never", 0 * HOUR, True),
        ("never", 3 * HOUR, False),
        ("never", DAY, False),
        ("daily", -HOUR, False),
        ("daily", DAY - HOUR, False),
        ("daily", DAY, True),
        ("daily", 400 * DAY + 2.9 * HOUR, True),
        ("daily", 400 * DAY + 3 * HOUR, False),
        ("weekly", DAY, False),
        ("weekly", 7 * DAY + HOUR, True),
        ("weekly", 70 * DAY - HOUR, False),
    ],
)
def test_maintenance_repeats(db: None, repeat: str, after: timedelta, is_on: bool) -> None:
    assert is_ongoing(maintenance(repeat), MONDAY + after) == is_on


def test_the_next_occurrence_of_maintenance(db: None) -> None:
    weekly = maintenance("weekly")
    next_monday = MONDAY + 7 * DAY
    assert occurrence(weekly, MONDAY - DAY) == (MONDAY, MONDAY + 3 * HOUR)
    assert occurrence(weekly, MONDAY + 3 * HOUR) == (next_monday, next_monday + 3 * HOUR)
    assert occurrence(maintenance(), MONDAY + 3 * HOUR) is None


def test_maintenance_suppresses_its_projects_and_targets_alone(fire: Fire, world: World) -> None:
    here, there = fire(), fire(cluster=world.elsewhere)
    window = maintenance()
    assert suppressed(here, MONDAY) == suppressed(there, MONDAY) == "maintenance “upgrade”"

    window.targets.add(world.target)
    assert suppressed(here, MONDAY)
    assert not suppressed(there, MONDAY)

    window.projects.add(world.beta)
    assert not suppressed(here, MONDAY)
    assert not suppressed(there, MONDAY)


def test_an_acknowledgement_stores_the_assignee_and_the_note(fire: Fire, world: World) -> None:
    alert = fire()
    acknowledge(alert, world.people["editor"], "  I restart it  ")
    alert.refresh_from_db()
    assert alert.acknowledged
    assert (alert.acknowledged_by, alert.acknowledgement) == (world.people["editor"], "I restart it")
