"""Accounts as an identity provider sees and changes them by SCIM.

It names people, and says whether they are active. Roles, passwords and the rights of administrators stay as
they are here: who has the token ends access, and gives back what it has ended.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from scim2_models import (
    ConflictException,
    EnterpriseUser,
    ForbiddenException,
    InvalidValueException,
    NotFoundException,
    UniquenessException,
)
from scim2_models import User as ScimUser

from observatory.clusters.scim.models import ScimPerson

Told = ScimUser[EnterpriseUser]
"""what the provider tells of a person"""
MOST_PEOPLE = 50_000
LONGEST_NAME = 200
BY_HAND = "An administrator of Observatory deactivated the account. Who did that activates it in the admin."
LAST = "This is the last active administrator of Observatory. Make another one first."


def people() -> QuerySet[ScimPerson]:
    return ScimPerson.objects.filter(is_removed=False).select_related("user").order_by("pk")


def person(id: str) -> ScimPerson:
    """Raises NotFoundException."""
    found = people().filter(pk=int(id)).first() if id.isascii() and id.isdecimal() and len(id) < 10 else None
    if found is None:
        raise NotFoundException(detail=f"There is no user {id[:LONGEST_NAME]!r}.")
    return found


@transaction.atomic
def add(told: Told) -> ScimPerson:
    """The account that the person has here, or a new one without a role. Raises SCIMException."""
    name = _name(told.user_name)
    found = ScimPerson.objects.select_for_update().filter(user_name__iexact=name).first()
    if found is None:
        account = _account(told, name)
        found = ScimPerson.objects.filter(user=account).first() or ScimPerson(user=account)
    if found.pk is not None and not found.is_removed:
        raise UniquenessException(detail=f"The account is that of {found.user_name!r} already.")
    found.user_name, found.external_id, found.is_removed = name, _text(told.external_id), False
    found.save()
    _set_active(found, told.active is not False)
    return found


@transaction.atomic
def replace(known: ScimPerson, told: Told) -> None:
    """Raises SCIMException. What isn't told of whether the person is active changes nothing."""
    known.user_name, known.external_id = _name(told.user_name), _text(told.external_id)
    if ScimPerson.objects.filter(user_name__iexact=known.user_name).exclude(pk=known.pk).exists():
        raise UniquenessException(detail=f"There is a user {known.user_name!r}.")
    known.save()
    if told.active is not None:
        _set_active(known, told.active)


@transaction.atomic
def remove(known: ScimPerson) -> None:
    """The account stays, deactivated: what the person made goes on. Raises SCIMException."""
    _set_active(known, False)
    known.is_removed = True
    known.save()


def _set_active(known: ScimPerson, is_active: bool) -> None:
    """Deactivating ends sessions and revokes tokens (accounts/departures.py)."""
    administrators = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    active = set(administrators.values_list("pk", flat=True))
    account = User.objects.select_for_update().get(pk=known.user_id)
    if is_active and not account.is_active and not known.has_deactivated:
        raise ForbiddenException(detail=BY_HAND)
    if not is_active and active == {account.pk}:
        raise ForbiddenException(detail=LAST)
    if account.is_active != is_active:
        account.is_active = is_active
        account.save(update_fields=["is_active"])
        known.has_deactivated = not is_active
        known.save(update_fields=["has_deactivated", "changed"])
    elif is_active and known.has_deactivated:  # an administrator activated it meanwhile
        known.has_deactivated = False
        known.save(update_fields=["has_deactivated", "changed"])
    known.user = account


def _account(told: Told, name: str) -> User:
    """By the id of single sign-on, the name, and the e-mail address; else a new one."""
    address = _address(told, name)
    ways = [User.objects.filter(username=name)]
    if settings.SINGLE_SIGN_ON and (id := _text(told.external_id)):
        of_sign_in = {"socialaccount__uid": id}  # its table is there with single sign-on only
        ways.insert(0, User.objects.filter(**of_sign_in).distinct())
    if address:
        ways.append(User.objects.filter(email__iexact=address))
    for way in ways:
        found = list(way[:2])
        if len(found) > 1:
            raise UniquenessException(detail="Several accounts of Observatory are that person's.")
        if found:
            return found[0]
    if ScimPerson.objects.count() >= MOST_PEOPLE:
        raise ConflictException(detail=f"There are {MOST_PEOPLE:,} people, the maximum.")
    try:
        User.username_validator(name)
        if len(name) > 150:
            raise ValidationError("")
    except ValidationError:
        detail = "A new userName has at most 150 letters, digits and @ . + - _."
        raise InvalidValueException(detail=detail) from None
    return User.objects.create(username=name, email=address, password=make_password(None))


def _address(told: Told, name: str) -> str:
    """The main e-mail address; "" where there is none."""
    addresses = sorted(told.emails or [], key=lambda each: not each.primary)
    for text in (*(str(each.value) for each in addresses if each.value), name):
        try:
            validate_email(text)
        except ValidationError:
            continue
        return text
    return ""


def _name(text: str | None) -> str:
    name = _text(text)
    if not name:
        raise InvalidValueException(detail="A user needs a userName.")
    return name


def _text(text: str | None) -> str:
    """Raises InvalidValueException for what can't be stored."""
    found = (text or "").strip()
    if len(found) > LONGEST_NAME or not found.isprintable():
        raise InvalidValueException(detail=f"Names and ids have at most {LONGEST_NAME} printable characters.")
    return found
