"""Run discovery counts errors as activity, too."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_texts")]

    operations = [
        migrations.RenameField("rundiscovery", "spans", "records"),
        migrations.AlterField(
            "rundiscovery",
            "records",
            models.BigIntegerField(default=0, help_text="Number of spans and errors at the last search."),
        ),
        migrations.AlterField(
            "rundiscovery",
            "looked",
            models.DateTimeField(help_text="End of the last activity searched.", null=True),
        ),
        migrations.AlterField(
            "rundiscovery",
            "busy",
            models.DateTimeField(
                help_text="End of the last activity found, or when tasks were last in processing.", null=True
            ),
        ),
    ]
