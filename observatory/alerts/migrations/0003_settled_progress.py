import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerts", "0002_ready_made_rules")]

    operations = [
        migrations.AlterModelOptions(name="progress", options={"verbose_name_plural": "progress"}),
        migrations.AddField(
            model_name="progress",
            name="is_over",
            field=models.BooleanField(default=False, help_text="It ended, and its last alert is resolved."),
        ),
        migrations.AddField(
            model_name="progress",
            name="settled",
            field=models.DateTimeField(
                default=django.utils.timezone.now,
                help_text="Before it all data was there when it was evaluated; what comes later is late.",
            ),
            preserve_default=False,
        ),
    ]
