from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0008_ingest_refusals"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="agent_silent",
            field=models.DateTimeField(
                editable=False, help_text="When its agent was noticed to be silent, by our clock.", null=True
            ),
        ),
        migrations.AddField(
            model_name="cluster",
            name="collector_behind",
            field=models.DateTimeField(
                editable=False,
                help_text="When its collector was noticed to be behind, by our clock.",
                null=True,
            ),
        ),
    ]
