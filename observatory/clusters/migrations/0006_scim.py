import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0005_rates"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ScimPerson",
            fields=[
                (
                    "id",
                    models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "user_name",
                    models.CharField(help_text="Its userName, mostly an e-mail address.", max_length=200),
                ),
                ("external_id", models.CharField(blank=True, help_text="Its externalId.", max_length=200)),
                (
                    "has_deactivated",
                    models.BooleanField(
                        default=False,
                        help_text="The provider deactivated the account, so it may activate it again.",
                    ),
                ),
                ("is_removed", models.BooleanField(default=False, help_text="The provider deleted it.")),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("changed", models.DateTimeField(auto_now=True)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scim",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "person of the identity provider",
                "verbose_name_plural": "people of the identity provider",
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("user_name"), name="one_person_a_scim_name"
                    )
                ],
            },
        ),
    ]
