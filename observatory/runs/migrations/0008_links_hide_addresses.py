"""Public links can hide addresses. New links do; existing ones go on showing them."""

from __future__ import annotations

from django.db import migrations, models

LABEL = "hide addresses"
HELP = "Replaces addresses, hosts and process ids by numbers of workers."


class Migration(migrations.Migration):
    dependencies = [("runs", "0007_link_tokens")]

    operations = [
        migrations.AddField(
            "permalink", "hides_addresses", models.BooleanField(LABEL, default=False, help_text=HELP)
        ),
        migrations.AlterField(
            "permalink", "hides_addresses", models.BooleanField(LABEL, default=True, help_text=HELP)
        ),
    ]
