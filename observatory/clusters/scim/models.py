"""The people that an identity provider tells of by SCIM. people.py makes and changes them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower


class ScimPerson(models.Model):
    """How the identity provider calls an account."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="scim")
    user_name = models.CharField(max_length=200, help_text="Its userName, mostly an e-mail address.")
    external_id = models.CharField(max_length=200, blank=True, help_text="Its externalId.")
    has_deactivated = models.BooleanField(
        default=False, help_text="The provider deactivated the account, so it may activate it again."
    )
    is_removed = models.BooleanField(default=False, help_text="The provider deleted it.")
    created = models.DateTimeField(auto_now_add=True)
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "clusters"
        verbose_name = "person of the identity provider"
        verbose_name_plural = "people of the identity provider"
        constraints = [models.UniqueConstraint(Lower("user_name"), name="one_person_a_scim_name")]

    def __str__(self) -> str:
        return self.user_name
