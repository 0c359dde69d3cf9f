from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("exchange", "0003_receivers")]

    operations = [
        migrations.AddField(
            model_name="rundelivery",
            name="accepted",
            field=models.JSONField(
                default=dict, editable=False, help_text="What the receiver has of it, until all was sent."
            ),
        ),
    ]
