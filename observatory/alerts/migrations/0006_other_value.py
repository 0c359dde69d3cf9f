from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0005_comparisons"),
    ]

    operations = [
        migrations.RenameField("condition", "divisor", "other"),
        migrations.RenameField("condition", "divisor_metric", "other_metric"),
        migrations.RenameField("condition", "divisor_labels", "other_labels"),
        migrations.RenameField("condition", "divisor_attribute", "other_attribute"),
        migrations.AlterField(
            model_name="condition",
            name="other",
            field=models.CharField(
                blank=True,
                choices=[("", "nothing"), ("metric", "another metric"), ("attribute", "a worker's")],
                default="",
                help_text="What the metric is divided by, or what is subtracted from it.",
                max_length=10,
                verbose_name="other value",
            ),
        ),
    ]
