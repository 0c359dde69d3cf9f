"""Two projects whose alerts are set up, and what superusers set up for all: what owners see in the admin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.utils.timezone import now

from observatory.alerts.models import Channel, Delivery, MaintenanceWindow, Rule, Silence
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.quantities import QUANTITIES
from observatory.alerts.secrets import encrypt
from observatory.clusters.accounts.models import GroupRole, Membership
from observatory.clusters.models import Cluster, Project, Target
from observatory.clusters.tokens import ingest_tokens
from tests.support.projects import World
from tests.support.stored_alerts import make_alert


@dataclass
class Setup:
    """What is set up for the alerts of one project, or for all projects."""

    rule: Rule
    channel: Channel
    delivery: Delivery
    silence: Silence
    window: MaintenanceWindow


def set_up(name: str, cluster: Cluster, *projects: Project) -> Setup:
    """Of these projects, with `name` in all names; an alert of the cluster was sent to the channel."""
    rule = Rule.objects.create(name=f"rule of {name}", description=f"of {name}")
    for row in rows_of([QUANTITIES["worker-memory"].condition]):
        row.rule = rule
        row.save()
    secret = encrypt(f"https://{name}.example.org/T0K3N")
    channel = Channel.objects.create(name=f"channel of {name}", kind="webhook", secret=secret)
    until = now() + timedelta(days=1)
    silence = Silence.objects.create(matchers='rule="Test"', expires=until, comment=f"silence of {name}")
    window = MaintenanceWindow.objects.create(name=f"window of {name}", starts=now(), stops=until)
    for item in (rule, channel, silence, window):
        item.projects.set(projects)
    alert = make_alert(cluster, rule.name, message=f"alert of {name}")
    delivery = Delivery.objects.create(
        channel=channel, alert=alert, change="firing", state="failed", last_error=f"error of {name}"
    )
    return Setup(rule, channel, delivery, silence, window)


@dataclass
class Setups:
    alpha: Setup
    beta: Setup
    shared: Setup
    """of both projects"""
    everywhere: Setup


def set_up_alerts(world: World) -> Setups:
    """Everything of Beta has its name. There is also a person `staff`, without permissions."""
    stranger = User.objects.create(username="person-of-beta", password=make_password(None))
    Membership.objects.create(project=world.beta, user=stranger, role=Membership.Role.VIEWER)
    GroupRole.objects.create(project=world.beta, group="group-of-beta")
    Target.objects.create(project=world.beta, name="target of beta", url="http://10.9.9.9:8787")
    ingest_tokens.make(world.beta, "token of beta", stranger)
    staff = User.objects.create(username="staff", password=stranger.password, is_staff=True)
    world.people["staff"] = staff
    return Setups(
        set_up("alpha", world.live, world.alpha),
        set_up("beta", world.elsewhere, world.beta),
        set_up("both", world.live, world.alpha, world.beta),
        set_up("everywhere", world.live),
    )
