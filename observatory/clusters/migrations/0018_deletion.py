import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0017_taken_streams"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="longer_retention_days",
            field=models.PositiveIntegerField(
                editable=False, help_text="What holds until `longer_until`.", null=True
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="longer_until",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="project",
            name="retention_days",
            field=models.PositiveIntegerField(
                default=30,
                help_text="Days that records are kept. A shorter time takes effect a day after it is set.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(3650),
                ],
            ),
        ),
        migrations.CreateModel(
            name="Deletion",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "kind",
                    models.CharField(help_text="project, cluster, rule, channel or person.", max_length=20),
                ),
                (
                    "subject",
                    models.IntegerField(help_text="The number of what is deleted. It is never used again."),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                (
                    "door",
                    models.CharField(
                        choices=[
                            ("page", "page"),
                            ("admin", "admin"),
                            ("api", "API"),
                            ("command", "command line"),
                        ],
                        max_length=10,
                        verbose_name="asked on",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("running", "running"),
                            ("done", "done"),
                            ("failed", "failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("progress", models.FloatField(default=0.0, help_text="From 0 to 1.")),
                (
                    "amounts",
                    models.JSONField(default=list, help_text="What was deleted so far: noun, count, bytes."),
                ),
                ("message", models.CharField(blank=True, help_text="Why it failed.", max_length=1000)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("finished", models.DateTimeField(null=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-created", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["waiting", "running"])),
                        fields=("kind", "subject"),
                        name="one_open_deletion_a_subject",
                    )
                ],
            },
        ),
    ]
