import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="quota_gib",
            field=models.FloatField(
                blank=True,
                help_text="Most that is stored of the project: beyond it the oldest records go first. Empty: "
                "the setting OBSERVATORY_PROJECT_QUOTA_GIB, or none.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0.001),
                    django.core.validators.MaxValueValidator(1000000),
                ],
                verbose_name="Quota (GiB)",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="stored_bytes",
            field=models.BigIntegerField(
                editable=False,
                help_text="Stored of a project with a quota, counted each hour.",
                null=True,
            ),
        ),
    ]
