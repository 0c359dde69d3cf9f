import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0010_own_project"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="currency",
            field=models.CharField(
                blank=True,
                help_text="Of the prices: EUR, $, credits.",
                max_length=8,
                validators=[
                    django.core.validators.RegexValidator(
                        "\\A([^\\W\\d_]{1,8}|[€$£¥₹₽₩₺₿¤])\\Z",
                        "Enter letters, such as EUR, or a sign: €, $, £, ¥.",
                    )
                ],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="gib_hour_price",
            field=models.DecimalField(
                blank=True,
                decimal_places=6,
                default=0,
                help_text="For each GiB of a worker's memory limit and hour that it exists.",
                max_digits=13,
                validators=[
                    django.core.validators.MinValueValidator(0),
                    django.core.validators.MaxValueValidator(1000000),
                ],
                verbose_name="Price of a GiB-hour",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="thread_hour_price",
            field=models.DecimalField(
                blank=True,
                decimal_places=6,
                default=0,
                help_text="For each hour that a worker's thread exists, busy or not.",
                max_digits=13,
                validators=[
                    django.core.validators.MinValueValidator(0),
                    django.core.validators.MaxValueValidator(1000000),
                ],
                verbose_name="Price of a thread-hour",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="worker_hour_price",
            field=models.DecimalField(
                blank=True,
                decimal_places=6,
                default=0,
                help_text="For each hour that a worker exists.",
                max_digits=13,
                validators=[
                    django.core.validators.MinValueValidator(0),
                    django.core.validators.MaxValueValidator(1000000),
                ],
                verbose_name="Price of a worker-hour",
            ),
        ),
    ]
