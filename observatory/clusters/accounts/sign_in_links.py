"""One-time sign-in links, and the first administrator."""

from __future__ import annotations

import secrets

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from observatory.clusters.accounts.models import Membership
from observatory.clusters.addresses.public_urls import without_script_prefix
from observatory.clusters.models import Project

FIRST_ADMINISTRATOR = "admin"
DEFAULT_PROJECT = "Default"
SIGN_IN_URLS = "observatory.pages.accounts.urls"


class SignInTokenGenerator(PasswordResetTokenGenerator):
    """Django's signed tokens, which expire after PASSWORD_RESET_TIMEOUT seconds.

    The signature covers the last sign-in and the password: signing in with a link and setting a password
    invalidate all earlier links. Nothing is stored.
    """

    key_salt = "observatory.clusters.accounts.sign-in"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        last_login = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk}|{user.password}|{last_login}|{user.is_active}|{timestamp}"


tokens = SignInTokenGenerator()


def first_administrator_link(base_url: str) -> str:
    """A link that signs in the first administrator, once and within an hour. `base_url`: "http://host:port"."""
    return base_url.rstrip("/") + sign_in_path(first_administrator())


@transaction.atomic
def first_administrator() -> User:
    """The oldest active superuser. Without one, creates it (without a password) and a default project."""
    user = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if user is not None:
        return user
    taken = User.objects.filter(username=FIRST_ADMINISTRATOR).exists()
    name = f"{FIRST_ADMINISTRATOR}-{secrets.token_hex(3)}" if taken else FIRST_ADMINISTRATOR
    user = User.objects.create_superuser(name, password=None)
    project, _ = Project.objects.get_or_create(slug="default", defaults={"name": DEFAULT_PROJECT})
    Membership.objects.create(project=project, user=user, role=Membership.Role.OWNER)
    return user


def sign_in_path(user: User) -> str:
    """Path of a one-time sign-in link for `user`, below the site's address."""
    number = urlsafe_base64_encode(str(user.pk).encode())
    # a start of `up` takes a second and a half longer with the URLs of all pages
    path = reverse("sign-in-once", SIGN_IN_URLS, args=[number, tokens.make_token(user)])
    return without_script_prefix(path)


def user_of_link(number: str, token: str, users: QuerySet[User] | None = None) -> User | None:
    """The user of a sign-in link, out of `users`; None for a used, expired or forged link."""
    try:
        key = int(urlsafe_base64_decode(number))
    except (ValueError, OverflowError):
        return None
    if not 0 < key < 2**31:
        return None
    user = (User.objects.all() if users is None else users).filter(pk=key, is_active=True).first()
    return user if user is not None and tokens.check_token(user, token) else None


def sign_in_once(request: HttpRequest, number: str, token: str) -> User | None:
    """Signs in the link's user, which invalidates the link. Returns None as user_of_link does."""
    with transaction.atomic():
        # locked: of two concurrent uses only one succeeds
        user = user_of_link(number, token, User.objects.select_for_update())
        if user is not None:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
        return user
