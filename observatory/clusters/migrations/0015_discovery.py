import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0014_group_roles"),
    ]

    operations = [
        migrations.AddField(
            model_name="target",
            name="missed",
            field=models.PositiveSmallIntegerField(
                default=0,
                editable=False,
                help_text="Successive answers of its discovery in which it was missing.",
            ),
        ),
        migrations.CreateModel(
            name="Discovery",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("name", models.CharField(max_length=100)),
                ("kind", models.CharField(max_length=20)),
                ("address", models.CharField(blank=True, max_length=500)),
                (
                    "namespace",
                    models.CharField(
                        blank=True,
                        help_text="Of Kubernetes. Empty: all namespaces that the credentials permit.",
                        max_length=63,
                    ),
                ),
                ("secret", models.TextField(default="", editable=False, help_text="Credentials, encrypted.")),
                (
                    "shares_credentials",
                    models.BooleanField(
                        default=False,
                        help_text="The list names the addresses that get them: for lists that you trust.",
                        verbose_name="Send these credentials to found targets, too",
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                (
                    "interval",
                    models.FloatField(
                        default=30.0,
                        help_text="Seconds between two requests of the list.",
                        validators=[
                            django.core.validators.MinValueValidator(5),
                            django.core.validators.MaxValueValidator(86400),
                        ],
                    ),
                ),
                (
                    "workers",
                    models.CharField(
                        choices=[
                            ("direct", "At their own addresses, without the credentials"),
                            ("http", "At their own addresses, by http:// and without the credentials"),
                            ("credentials", "At their own addresses, with the credentials"),
                            ("proxy", "Through the scheduler's proxy of workers"),
                        ],
                        default="direct",
                        help_text="Of found targets: how /metrics of workers are requested.",
                        max_length=12,
                        verbose_name="workers' metrics",
                    ),
                ),
                (
                    "identity_interval",
                    models.FloatField(
                        default=1.0,
                        help_text="Of found targets: seconds between requests of identity and counts.",
                        validators=[
                            django.core.validators.MinValueValidator(0.2),
                            django.core.validators.MaxValueValidator(3600),
                        ],
                    ),
                ),
                (
                    "metrics_interval",
                    models.FloatField(
                        default=5.0,
                        help_text="Of found targets: seconds between scrapes of /metrics.",
                        validators=[
                            django.core.validators.MinValueValidator(0.5),
                            django.core.validators.MaxValueValidator(3600),
                        ],
                    ),
                ),
                ("created", models.DateTimeField(auto_now_add=True)),
                (
                    "looked",
                    models.DateTimeField(
                        editable=False, help_text="When the list was requested last.", null=True
                    ),
                ),
                (
                    "answered",
                    models.DateTimeField(editable=False, help_text="When the list arrived last.", null=True),
                ),
                (
                    "found",
                    models.PositiveIntegerField(
                        default=0, editable=False, help_text="Clusters in the last list."
                    ),
                ),
                ("error", models.CharField(default="", editable=False, max_length=500)),
                (
                    "warning",
                    models.CharField(
                        default="",
                        editable=False,
                        help_text="What of the last list is not observed, and why.",
                        max_length=500,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="discoveries",
                        to="clusters.project",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "discoveries",
                "ordering": ["name"],
            },
        ),
        migrations.AddField(
            model_name="target",
            name="discovery",
            field=models.ForeignKey(
                editable=False,
                help_text="What found it. Null: a person added it.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="targets",
                to="clusters.discovery",
            ),
        ),
        migrations.AddConstraint(
            model_name="discovery",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="one_discovery_a_name"),
        ),
    ]
