"""The admin of users, as a person with every permission on users and groups who is no superuser."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from tests.support.projects import signed_in

PASSWORD = "a long enough one"


@pytest.fixture
def people(db: None) -> dict[str, User]:
    people = {
        "root": User.objects.create_superuser("root", "root@example.org", PASSWORD),
        "staff": User.objects.create_user("staff", "staff@example.org", PASSWORD, is_staff=True),
        "other": User.objects.create_user("other", "other@example.org", PASSWORD, is_staff=True),
        "person": User.objects.create_user("person", "person@example.org", PASSWORD),
    }
    people["staff"].user_permissions.set(Permission.objects.filter(content_type__app_label="auth"))
    return people


@pytest.fixture
def staff(people: dict[str, User]) -> Client:
    return signed_in(people["staff"])


def change(client: Client, person: User, **fields: Any) -> int:
    """Sends the form of a person as a browser would, with `fields` changed."""
    form = {"username": person.username, "email": person.email, "first_name": "Changed", "last_name": ""}
    form |= {"is_active": "on", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", **fields}
    return client.post(f"/admin/auth/user/{person.pk}/change/", form).status_code


EVERYTHING = {"is_staff": "on", "is_superuser": "on"}


def test_who_is_no_superuser_gives_nobody_permissions(staff: Client, people: dict[str, User]) -> None:
    group = Group.objects.create(name="platform")
    permission = Permission.objects.get(codename="delete_project")
    chosen = {"groups": [group.pk], "user_permissions": [permission.pk]}
    assert change(staff, people["person"], **EVERYTHING, **chosen) == 302
    person = User.objects.get(username="person")
    assert person.first_name == "Changed"
    assert not person.is_staff
    assert not person.is_superuser
    assert not person.groups.exists()
    assert not person.user_permissions.exists()


@pytest.mark.parametrize("name", ["staff", "other", "root"])
def test_who_is_no_superuser_changes_no_staff(name: str, staff: Client, people: dict[str, User]) -> None:
    person = people[name]
    assert change(staff, person, **EVERYTHING) == 403
    passwords = {"password1": "another long one", "password2": "another long one", "usable_password": "true"}
    assert staff.post(f"/admin/auth/user/{person.pk}/password/", passwords).status_code == 403
    assert staff.post(f"/admin/auth/user/{person.pk}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [person.pk], "post": "yes"}
    staff.post("/admin/auth/user/", chosen)
    after = User.objects.get(pk=person.pk)
    assert after.check_password(PASSWORD)
    assert (after.first_name, after.is_superuser) == ("", name == "root")


def test_who_is_no_superuser_sets_the_password_of_a_person_without_staff_status(
    staff: Client, people: dict[str, User]
) -> None:
    passwords = {"password1": "another long one", "password2": "another long one", "usable_password": "true"}
    assert staff.post(f"/admin/auth/user/{people['person'].pk}/password/", passwords).status_code == 302
    assert User.objects.get(username="person").check_password("another long one")


def test_who_is_no_superuser_changes_no_group(staff: Client, people: dict[str, User]) -> None:
    group = Group.objects.create(name="own")
    people["staff"].groups.add(group)
    permissions = {"name": "own", "permissions": [each.pk for each in Permission.objects.all()]}
    assert staff.post(f"/admin/auth/group/{group.pk}/change/", permissions).status_code == 403
    assert staff.post("/admin/auth/group/add/", permissions | {"name": "new"}).status_code == 403
    assert staff.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}).status_code == 403
    assert not group.permissions.exists()
    assert list(Group.objects.all()) == [group]


def test_a_new_person_of_who_is_no_superuser_has_no_permissions(staff: Client) -> None:
    form = {"username": "new", "password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    assert staff.post("/admin/auth/user/add/", form | EVERYTHING).status_code == 302
    new = User.objects.get(username="new")
    assert not new.is_staff
    assert not new.is_superuser


def test_a_superuser_changes_everything(people: dict[str, User]) -> None:
    root = signed_in(people["root"])
    assert change(root, people["other"], **EVERYTHING) == 302
    assert User.objects.get(username="other").is_superuser
    assert root.post("/admin/auth/group/add/", {"name": "platform"}).status_code == 302
    assert Group.objects.get().name == "platform"
