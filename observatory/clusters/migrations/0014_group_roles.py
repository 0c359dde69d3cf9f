import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0013_access_token_scopes"),
    ]

    operations = [
        migrations.AddField(
            model_name="membership",
            name="by_groups",
            field=models.BooleanField(
                default=False, help_text="The groups of the user give it: each sign-in sets or removes it."
            ),
        ),
        migrations.CreateModel(
            name="GroupRole",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "group",
                    models.CharField(
                        help_text="Its name as the proxy or the issuer sends it.", max_length=200
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer: reads everything"),
                            (
                                "editor",
                                "Editor: also changes targets (which can reach private networks), "
                                "runs and tokens",
                            ),
                            ("owner", "Owner: also manages members and settings"),
                        ],
                        default="viewer",
                        max_length=10,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="group_roles",
                        to="clusters.project",
                    ),
                ),
            ],
            options={
                "ordering": ["group", "project"],
                "constraints": [
                    models.UniqueConstraint(fields=("group", "project"), name="one_role_a_group")
                ],
            },
        ),
    ]
