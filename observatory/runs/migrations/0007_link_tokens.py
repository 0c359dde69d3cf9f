"""Replaces the tokens of links by their digests and encrypted copies. Existing links go on working."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

from observatory.runs.sharing.link_tokens import shown, stored


def protect(apps: Any, schema_editor: Any) -> None:
    for link in apps.get_model("runs", "Permalink").objects.exclude(token=None).iterator():
        for name, value in stored(link.token).items():
            setattr(link, name, value)
        link.save(update_fields=["digest", "secret"])


def expose(apps: Any, schema_editor: Any) -> None:
    for link in apps.get_model("runs", "Permalink").objects.iterator():
        link.token = shown(link.secret) or link.digest
        link.save(update_fields=["token"])


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_discovery_of_errors")]

    operations = [
        migrations.AddField(
            "permalink", "digest", models.CharField(max_length=64, editable=False, null=True)
        ),
        migrations.AddField(
            "permalink", "secret", models.CharField(max_length=200, editable=False, default="")
        ),
        migrations.AlterField("permalink", "token", models.CharField(max_length=64, unique=True, null=True)),
        migrations.RunPython(protect, expose),
        migrations.RemoveField("permalink", "token"),
        migrations.AlterField(
            "permalink", "digest", models.CharField(max_length=64, editable=False, unique=True)
        ),
        migrations.AlterField("permalink", "secret", models.CharField(max_length=200, editable=False)),
    ]
