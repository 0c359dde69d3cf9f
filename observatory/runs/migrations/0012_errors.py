import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0011_usage"),
    ]

    operations = [
        migrations.CreateModel(
            name="RunError",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("exception_type", models.CharField(max_length=200)),
                (
                    "place",
                    models.CharField(
                        help_text="What errors of the same place have in common.", max_length=420
                    ),
                ),
                ("function", models.CharField(blank=True, max_length=200)),
                ("file", models.CharField(blank=True, max_length=200)),
                ("line", models.PositiveIntegerField(default=0, help_text="Of the last error.")),
                ("prefix", models.CharField(help_text="That most of them are of.", max_length=200)),
                ("count", models.PositiveIntegerField(help_text="Failed attempts.")),
                ("retried", models.PositiveIntegerField(default=0)),
                ("killed", models.PositiveIntegerField(default=0)),
                ("first", models.DateTimeField()),
                ("last", models.DateTimeField()),
                ("last_id", models.UUIDField()),
                ("message", models.CharField(blank=True, max_length=500)),
                (
                    "deaths",
                    models.JSONField(default=dict, help_text="Of the workers on which killed tasks ran."),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="error_kinds", to="runs.run"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["exception_type", "place", "last"], name="runs_runerr_excepti_4d3348_idx"
                    ),
                    models.Index(fields=["last"], name="runs_runerr_last_63bbeb_idx"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "exception_type", "place"), name="one_kind_of_error_a_run"
                    )
                ],
            },
        ),
    ]
