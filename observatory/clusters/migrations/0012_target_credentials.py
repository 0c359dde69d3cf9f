from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0011_prices"),
    ]

    operations = [
        migrations.AddField(
            model_name="target",
            name="secret",
            field=models.TextField(default="", editable=False, help_text="Credentials, encrypted."),
        ),
        migrations.AddField(
            model_name="target",
            name="workers",
            field=models.CharField(
                choices=[
                    ("direct", "At their own addresses, without the credentials"),
                    ("http", "At their own addresses, by http:// and without the credentials"),
                    ("credentials", "At their own addresses, with the credentials"),
                    ("proxy", "Through the scheduler's proxy of workers"),
                ],
                default="direct",
                help_text="How /metrics of workers are requested. The scheduler names their addresses.",
                max_length=12,
                verbose_name="workers' metrics",
            ),
        ),
    ]
