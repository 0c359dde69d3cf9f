from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0009_recording_interruptions"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="is_own",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="It is of Observatory itself: only superusers see its alerts.",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_own", True)), fields=("is_own",), name="one_own_project"
            ),
        ),
    ]
