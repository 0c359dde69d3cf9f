"""Throttling of sign-ins: by account and client, with a growing delay. django-axes asks these functions.

A browser in which somebody signed in before is a client of its own, by a signed cookie: whoever guesses an
account's password from the same address, such as a proxy's, does not lock the account's owner out.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from datetime import timedelta

from axes.models import AccessFailureLog
from django.conf import settings
from django.contrib.auth.models import User
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import now

COOKIE = "observatory_device"
SALT = "observatory.clusters.sign_in_throttle"
LIFETIME = 365 * 86_400
"""seconds that a browser is known after a sign-in"""
FIRST_DELAY = timedelta(seconds=30)
LONGEST_DELAY = timedelta(hours=1)
REMEMBERED = timedelta(days=1)
"""failures older than this no longer count"""
DEVICES = int(ipaddress.IPv6Address("fd00::"))
"""private addresses, which stand for known devices in the table of failures"""


def remember_device(response: HttpResponse, user: User) -> None:
    """Mark the browser as one in which `user` signed in."""
    response.set_signed_cookie(
        COOKIE,
        f"{user.pk}:{secrets.token_hex(16)}",
        salt=SALT,
        max_age=LIFETIME,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def client_address(request: HttpRequest) -> str | None:
    """The client that failures are counted for: a known device of the account, else the address."""
    device = _known_device(request)
    if device is None:
        return request.META.get("REMOTE_ADDR")
    digest = hashlib.sha256(device.encode()).digest()
    return str(ipaddress.IPv6Address(DEVICES + int.from_bytes(digest[:14], "big")))


def cool_off(request: HttpRequest | None) -> timedelta:
    """How long an account and client are refused: twice as long after each further FAILURE_LIMIT failures."""
    if request is None:
        return LONGEST_DELAY
    failures = AccessFailureLog.objects.filter(
        username=request.POST.get("username"),
        ip_address=client_address(request),
        attempt_time__gt=now() - REMEMBERED,
    ).count()
    doublings: int = min(max(0, failures // settings.AXES_FAILURE_LIMIT - 1), 10)
    return min(LONGEST_DELAY, FIRST_DELAY * (1 << doublings))


def _known_device(request: HttpRequest) -> str | None:
    """The device's id where the account that signs in did so in this browser before."""
    try:
        device = request.get_signed_cookie(COOKIE, salt=SALT, max_age=LIFETIME)
    except (KeyError, BadSignature):
        return None
    number = str(device).partition(":")[0]
    user = User.objects.filter(pk=number, username=request.POST.get("username")).first()
    return None if user is None else str(device)
