import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0004_provisioned"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="export_rate",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Of all people together. Empty: the setting OBSERVATORY_PROJECT_EXPORTS_PER_HOUR, or no limit.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(1000000),
                ],
                verbose_name="Exports an hour",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="ingest_rate",
            field=models.FloatField(
                blank=True,
                help_text="Most that agents and Prometheus send, compressed; they send the rest later. Empty: the setting OBSERVATORY_PROJECT_INGEST_MIB_PER_MINUTE, or no limit.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0.001),
                    django.core.validators.MaxValueValidator(1000000),
                ],
                verbose_name="Ingest (MiB a minute)",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="link_rate",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Of all links to runs of the project together. Empty: the setting OBSERVATORY_PROJECT_LINK_REQUESTS_PER_MINUTE, or no limit.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(1000000),
                ],
                verbose_name="Requests of links a minute",
            ),
        ),
    ]
