"""Revokes a user's access tokens when the password changes, wherever that happens."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.utils.timezone import now


@receiver(post_save, sender=User)
def revoke_access_tokens(instance: User, created: bool, **_: Any) -> None:
    # Django keeps the raw password on the instance while it saves a new one, but not for a rehash
    if not created and instance._password is not None:  # type: ignore[attr-defined]
        instance.access_tokens.filter(revoked=None).update(revoked=now())
