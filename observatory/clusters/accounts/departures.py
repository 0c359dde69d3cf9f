"""People who leave lose sessions and access tokens: when deactivated, or when nobody vouches for them.

Neither OpenID Connect nor SAML tells a site that a person left. So what they vouch for holds for a time: a
session for SINGLE_SIGN_ON_HOURS, after which the person signs in there again; the tokens of a person who can
sign in only there for SINGLE_SIGN_ON_DAYS since the last time.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.timezone import now


@receiver(post_save, sender=User, dispatch_uid="people who leave")
def end_access(instance: User, created: bool, **_: Any) -> None:
    """A deactivated account that is activated again begins without sessions and tokens."""
    if not created and not instance.is_active:
        instance.access_tokens.filter(revoked=None).update(revoked=now())
        end_sessions(instance)


def end_sessions(person: User) -> int:
    """Signs the person out everywhere; returns of how many sessions."""
    return Session.objects.filter(pk__in=sessions_of(person)).delete()[0]


def sessions_of(person: User) -> list[str]:
    """Their keys. A session's content says whose it is."""
    sessions = Session.objects.iterator(chunk_size=500)
    return [each.pk for each in sessions if each.get_decoded().get(SESSION_KEY) == str(person.pk)]


def bound_session(request: HttpRequest) -> None:
    """A session that somebody else vouches for ends after SINGLE_SIGN_ON_HOURS, whatever is done in it."""
    request.session.set_expiry(now() + timedelta(hours=settings.SINGLE_SIGN_ON_HOURS))


def is_vouched_for(prefix: str = "") -> Q:
    """Accounts whose tokens hold: who can sign in here with a password, or did so elsewhere lately.

    `prefix` leads to the account, such as "user__".
    """
    if not (settings.SINGLE_SIGN_ON or settings.SIGN_IN_HEADER):
        return Q()
    earliest = now() - timedelta(days=settings.SINGLE_SIGN_ON_DAYS)
    is_recent = Q(**{f"{prefix}last_login": None}) | Q(**{f"{prefix}last_login__gte": earliest})
    if not settings.PASSWORD_SIGN_IN:
        return is_recent
    return is_recent | ~Q(**{f"{prefix}password__startswith": UNUSABLE_PASSWORD_PREFIX})
