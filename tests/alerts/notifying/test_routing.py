from __future__ import annotations

from observatory.alerts.models import Delivery, Rule
from observatory.alerts.notifying.message import Change
from observatory.alerts.notifying.routing import enqueue
from tests.alerts.notifying.conftest import Fire, Resolve, make_channel
from tests.support.projects import World


def notified() -> list[tuple[str, str]]:
    """The channels and the changes of all deliveries."""
    return sorted(Delivery.objects.values_list("channel__name", "change"))


def test_each_enabled_channel_with_a_matching_filter_is_notified(
    world: World, fire: Fire, rule: Rule
) -> None:
    other = Rule.objects.create(name="another")
    make_channel("all")
    make_channel("switched off", enabled=False)
    make_channel("at least critical", minimum_severity="critical")
    make_channel("of alpha").projects.add(world.alpha)
    make_channel("of beta").projects.add(world.beta)
    make_channel("of this rule").rules.add(rule)
    make_channel("of another rule").rules.add(other)

    fire(severity="warning")

    assert notified() == [("all", "firing"), ("of alpha", "firing"), ("of this rule", "firing")]


def test_channels_that_were_notified_of_the_start_are_notified_of_the_end(
    fire: Fire, resolve: Resolve, world: World
) -> None:
    make_channel("silent about ends", tells_resolved=False)
    narrowed = make_channel("narrowed since")
    alert = fire()
    narrowed.projects.add(world.beta)
    make_channel("made since")

    resolve(alert)

    assert notified() == [
        ("narrowed since", "firing"),
        ("narrowed since", "resolved"),
        ("silent about ends", "firing"),
    ]


def test_a_start_and_its_end_can_be_enqueued_together(fire: Fire) -> None:
    alert = fire()
    make_channel()
    enqueue([(alert, Change.FIRING), (alert, Change.RESOLVED)])
    assert notified() == [("channel", "firing"), ("channel", "resolved")]


def test_a_change_is_enqueued_once(fire: Fire) -> None:
    make_channel()
    alert = fire()
    enqueue([(alert, Change.FIRING)])
    assert notified() == [("channel", "firing")]


def test_without_channels_nothing_is_enqueued(fire: Fire, resolve: Resolve) -> None:
    resolve(fire())
    assert notified() == []
