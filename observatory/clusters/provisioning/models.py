"""The marks of what is provisioned. runtime/configuration/ makes them."""

from __future__ import annotations

from django.db import models

LONGEST_KEY = 400
DEFAULT_SOURCE = "default"


class Provisioned(models.Model):
    """Something that a folder of files describes: a project, a rule, a channel …"""

    source = models.CharField(max_length=100, help_text="The name of the folder: `apply --source`.")
    file = models.CharField(max_length=300, help_text="The file in the folder.")
    kind = models.CharField(max_length=40, help_text="Its model: alerts.rule.")
    key = models.CharField(max_length=LONGEST_KEY, help_text="What identifies it in the files.")
    number = models.BigIntegerField(help_text="Its primary key.")
    was_made_by_hand = models.BooleanField(
        default=False, help_text="It was there before it was in the files, so it stays when it leaves them."
    )
    references = models.JSONField(
        default=dict, help_text="By field: the environment variable or file that its secret is from."
    )
    applied = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "clusters"
        verbose_name_plural = "provisioned"
        constraints = [
            models.UniqueConstraint(fields=["kind", "number"], name="provisioned_once"),
            models.UniqueConstraint(fields=["source", "kind", "key"], name="one_provisioned_a_key"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def place(self) -> str:
        """Where it is changed."""
        return self.file if self.source == DEFAULT_SOURCE else f"{self.file} of {self.source}"
