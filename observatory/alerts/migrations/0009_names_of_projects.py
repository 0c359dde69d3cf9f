"""Owners of different projects may give rules and channels the same name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0008_first_findings"),
    ]

    operations = [
        migrations.AlterField(
            model_name="channel",
            name="name",
            field=models.CharField(max_length=100),
        ),
        migrations.AlterField(
            model_name="rule",
            name="name",
            field=models.CharField(max_length=100),
        ),
    ]
