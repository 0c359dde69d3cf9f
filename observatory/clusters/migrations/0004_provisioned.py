from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0003_audit")]

    operations = [
        migrations.CreateModel(
            name="Provisioned",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "source",
                    models.CharField(help_text="The name of the folder: `apply --source`.", max_length=100),
                ),
                ("file", models.CharField(help_text="The file in the folder.", max_length=300)),
                ("kind", models.CharField(help_text="Its model: alerts.rule.", max_length=40)),
                ("key", models.CharField(help_text="What identifies it in the files.", max_length=400)),
                ("number", models.BigIntegerField(help_text="Its primary key.")),
                (
                    "was_made_by_hand",
                    models.BooleanField(
                        default=False,
                        help_text="It was there before it was in the files, so it stays when it leaves them.",
                    ),
                ),
                (
                    "references",
                    models.JSONField(
                        default=dict,
                        help_text="By field: the environment variable or file that its secret is from.",
                    ),
                ),
                ("applied", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name_plural": "provisioned",
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "number"), name="provisioned_once"),
                    models.UniqueConstraint(fields=("source", "kind", "key"), name="one_provisioned_a_key"),
                ],
            },
        )
    ]
