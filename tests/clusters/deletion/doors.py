"""The ways to delete something: its page, the API, the command and the admin."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import call_command

from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.tasks import delete
from tests.clusters.deletion.conftest import Filled

pytestmark = pytest.mark.django_db(transaction=True)


KINDS = ("project", "cluster", "rule", "channel", "person")


DOORS = ("page", "api", "command", "admin")


ADMIN = {
    "project": "clusters/project",
    "cluster": "clusters/cluster",
    "rule": "alerts/rule",
    "channel": "alerts/channel",
    "person": "auth/user",
}


def subject_of(filled: Filled, kind: str) -> Any:
    """What is deleted: everything in it belongs to Alpha."""
    world = filled.world
    return {
        "project": world.alpha,
        "cluster": world.ended,
        "rule": filled.rules["alpha"],
        "channel": filled.channels["alpha"],
        "person": world.people["editor"],
    }[kind]


def pass_through(door: str, filled: Filled, kind: str, subject: Any) -> Deletion:
    """Deletes as a superuser."""
    reference, client = kinds()[kind].reference_to(subject), filled.world.client("superuser")
    if door == "command":
        call_command("delete", kind, reference, "--yes", stdout=io.StringIO(), stderr=io.StringIO())
        return Deletion.objects.get()
    if door == "page":
        answer = client.post(f"/delete/{kind}/{reference}/", {"name": str(subject)})
        deletion = Deletion.objects.get()
        assert answer.headers["Location"] == f"/deletions/{deletion.pk}/"
    elif door == "api":
        address = f"/api/v1/deletions/{kind}/{reference}"
        answer = client.post(address, {"name": str(subject)}, content_type="application/json")
        assert answer.status_code == 202, answer.content
    else:
        chosen = {"action": "delete_selected", "_selected_action": [subject.pk], "post": "yes"}
        answer = client.post(f"/admin/{ADMIN[kind]}/", chosen)
        assert answer.status_code == 302, answer.content
    delete(Deletion.objects.get().pk)
    return Deletion.objects.get()
