import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0013_findings"),
    ]

    operations = [
        migrations.CreateModel(
            name="RunExplanation",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="explanation",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                (
                    "counted",
                    models.DateTimeField(help_text="`counted` of the run's figures when it was looked at."),
                ),
                (
                    "answers",
                    models.JSONField(
                        default=dict, help_text="Those of the API, by the last part of its URL."
                    ),
                ),
            ],
        ),
    ]
