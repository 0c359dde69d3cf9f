"""Adds when records of a run came after it was counted."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [
        migrations.AddField(
            "run",
            "records_came",
            models.DateTimeField(
                editable=False,
                help_text="When records of it last came after it was counted, by the server's clock.",
                null=True,
            ),
        ),
        migrations.AlterField(
            "run",
            "counted",
            models.DateTimeField(
                editable=False,
                help_text="When the count of the figures began, by the server's clock.",
                null=True,
            ),
        ),
    ]
