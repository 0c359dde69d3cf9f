import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0015_discovery"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer: reads everything"),
                            (
                                "editor",
                                "Editor: also changes targets (which can reach private networks), "
                                "runs and tokens",
                            ),
                            ("owner", "Owner: also manages members and settings"),
                        ],
                        default="viewer",
                        max_length=10,
                    ),
                ),
                (
                    "note",
                    models.CharField(
                        blank=True,
                        help_text="A name, an e-mail address. Only this list shows it.",
                        max_length=200,
                        verbose_name="for",
                    ),
                ),
                (
                    "uses",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="How many can join with the link.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                        verbose_name="people",
                    ),
                ),
                ("used", models.PositiveSmallIntegerField(default=0, editable=False)),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("expires", models.DateTimeField(editable=False)),
                ("revoked", models.DateTimeField(editable=False, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="clusters.project",
                    ),
                ),
            ],
            options={
                "ordering": ["-created"],
            },
        ),
    ]
