from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0016_invitations")]

    operations = [
        migrations.AlterField(
            model_name="target",
            name="stream",
            field=models.CharField(
                choices=[
                    ("unknown", "not subscribed yet"),
                    ("receiving", "receiving"),
                    ("contested", "receiving, taken by another subscriber within the last hour"),
                    ("stolen", "taken by another subscriber"),
                    ("yielded", "left to another subscriber for an hour"),
                    ("closed", "closed"),
                ],
                default="unknown",
                editable=False,
                max_length=10,
            ),
        ),
    ]
