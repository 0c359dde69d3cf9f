"""What becomes of a person who is deleted."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection

from observatory.alerts.models import Channel
from observatory.clusters.deletion.amounts import as_text, from_json, summed
from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import preview
from observatory.clusters.models import Project
from observatory.clusters.tasks import delete
from observatory.clusters.tokens.models import IngestToken
from observatory.runs.models import Note, Permalink, Run
from tests.clusters.deletion.conftest import Filled
from tests.clusters.deletion.doors import pass_through

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_a_deleted_person_made_in_projects_stays_by_a_deleted_user(filled: Filled) -> None:
    world = filled.world
    editor = world.people["editor"]
    pass_through("page", filled, "person", editor)
    assert Run.objects.get(cluster=world.ended).created_by is None
    assert Note.objects.get(cluster=world.ended).author is None
    assert Permalink.objects.get(run__cluster=world.ended).created_by is None
    assert IngestToken.objects.get(project=world.alpha).revoked is None
    assert filled.rules["alpha"].projects.get() == world.alpha
    assert Channel.objects.filter(pk=filled.channels["alpha"].pk).exists()
    client = world.client("owner")
    run = Run.objects.get(cluster=world.ended)
    assert "by a deleted user" in client.get(f"/runs/{run.pk}/links/").content.decode()
    deletion = Deletion.objects.get()
    assert (deletion.name, deletion.asked_by) == ("", world.people["superuser"])


def test_a_persons_channel_goes_if_nobody_else_is_in_its_projects(filled: Filled) -> None:
    editor = filled.world.people["editor"]
    alone = Project.objects.create(name="Own", slug="own")
    alone.memberships.create(user=editor, role="owner")
    own, shared = (Channel.objects.create(name=name, secret="", created_by=editor) for name in ("a", "b"))
    own.projects.add(alone)
    shared.projects.add(alone, filled.world.alpha)
    to_all = Channel.objects.create(name="to all", secret="", created_by=editor)
    shown = preview(kinds()["person"], editor)
    assert "Own" in " ".join(shown.notes)
    pass_through("command", filled, "person", editor)
    assert not Channel.objects.filter(pk=own.pk).exists()
    assert Channel.objects.filter(pk__in=[shared.pk, to_all.pk]).count() == 2
    assert Project.objects.filter(pk=alone.pk).exists()


def test_the_only_superuser_is_not_deleted(filled: Filled) -> None:
    root = filled.world.people["superuser"]
    answer = filled.world.client("superuser").post("/delete/person/superuser/", {"name": "superuser"})
    assert answer.status_code == 422
    assert "only superuser" in answer.content.decode()
    User.objects.create_superuser("second", "", None)
    answer = filled.world.client("superuser").post("/delete/person/superuser/", {"name": "superuser"})
    assert answer.status_code == 302
    delete(Deletion.objects.get().pk)
    assert not User.objects.filter(pk=root.pk).exists()


def test_a_person_of_single_sign_on_is_deleted_after_it_was_switched_off(filled: Filled) -> None:
    editor = filled.world.people["editor"]
    with connection.cursor() as cursor:
        cursor.execute("""
            CREATE TABLE account_emailaddress (
                id serial PRIMARY KEY, email text, user_id integer NOT NULL
                REFERENCES auth_user (id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE account_emailconfirmation (
                id serial PRIMARY KEY, email_address_id integer NOT NULL
                REFERENCES account_emailaddress (id) DEFERRABLE INITIALLY DEFERRED)""")
        for person in (editor, filled.world.people["owner"]):
            cursor.execute("INSERT INTO account_emailaddress (email, user_id) VALUES ('x', %s)", [person.pk])
        cursor.execute(
            "INSERT INTO account_emailconfirmation (email_address_id) SELECT id FROM account_emailaddress"
        )
    try:
        shown = preview(kinds()["person"], editor)
        assert "2 rows of single sign-on" in map(as_text, shown.goes)
        deletion = pass_through("page", filled, "person", editor)
        assert (deletion.state, summed(from_json(deletion.amounts))) == ("done", shown.goes)
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM account_emailaddress")
            assert cursor.fetchall() == [(1,)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE account_emailconfirmation, account_emailaddress")
