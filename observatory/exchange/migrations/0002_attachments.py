import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("exchange", "0001_initial"),
        ("runs", "0003_attachments"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="start",
            field=models.DateTimeField(
                help_text="When an attached file begins; null: as it tells.", null=True
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="worker",
            field=models.CharField(
                blank=True, help_text="Name or address of an attached file's worker.", max_length=500
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[("export", "export"), ("import", "import"), ("attach", "attachment")], max_length=10
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="message",
            field=models.CharField(
                blank=True, help_text="Why it failed, or what a file doesn't tell.", max_length=1000
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="run",
            field=models.ForeignKey(
                help_text="The exported or imported run, or the one that a file is attached to.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="jobs",
                to="runs.run",
            ),
        ),
    ]
