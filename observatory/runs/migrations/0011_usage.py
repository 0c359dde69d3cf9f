import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0011_prices"),
        ("runs", "0010_transferred_bytes"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="sums_counted",
            field=models.DateTimeField(
                editable=False,
                help_text="`counted` of the figures when its usage and errors were added up.",
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="Usage",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("day", models.DateField()),
                (
                    "until",
                    models.DateTimeField(
                        help_text="The day is counted up to here, on the scheduler's clock."
                    ),
                ),
                ("cluster_seconds", models.FloatField(default=0)),
                ("worker_seconds", models.FloatField(default=0)),
                ("thread_seconds", models.FloatField(default=0)),
                (
                    "memory_seconds",
                    models.FloatField(default=0, help_text="Bytes of the workers' limits times seconds."),
                ),
                ("busy_seconds", models.FloatField(default=0, help_text="In which threads computed tasks.")),
                ("tasks", models.BigIntegerField(default=0)),
                ("errors", models.BigIntegerField(default=0)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="usage",
                        to="clusters.cluster",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        help_text="Null: all of it.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="usage",
                        to="runs.run",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "usage",
                "indexes": [models.Index(fields=["day", "cluster"], name="runs_usage_day_1ca556_idx")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "run", "day"), name="one_usage_a_day", nulls_distinct=False
                    )
                ],
            },
        ),
    ]
