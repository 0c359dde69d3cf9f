import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0002_late_records"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="attached_files",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, editable=False, help_text="Number of its attachments."
            ),
        ),
        migrations.CreateModel(
            name="Attachment",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(help_text="Name of the file.", max_length=255)),
                (
                    "format",
                    models.CharField(choices=[("speedscope", "profile"), ("trace", "trace")], max_length=10),
                ),
                ("digest", models.CharField(editable=False, help_text="SHA-256 of the file.", max_length=64)),
                ("start", models.DateTimeField(help_text="When the file begins, on the scheduler's clock.")),
                ("seconds", models.FloatField(help_text="Length of the file.")),
                (
                    "is_dated",
                    models.BooleanField(default=False, help_text="The file itself tells when it begins."),
                ),
                (
                    "threads",
                    models.JSONField(
                        default=list,
                        help_text="Of each thread of the file: process, name, and the worker's id or null.",
                    ),
                ),
                (
                    "stacks",
                    models.BinaryField(
                        help_text="Binned stacks, packed (exchange/attachments/binned_stacks.py)."
                    ),
                ),
                ("remarks", models.TextField(blank=True, help_text="What the file doesn't tell.")),
                ("created", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attachments", to="runs.run"
                    ),
                ),
            ],
            options={
                "ordering": ["start", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "digest"), name="one_attachment_of_a_file")
                ],
            },
        ),
    ]
