import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0002_quotas"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[
                            ("person", "person"),
                            ("token", "access token"),
                            ("command", "command line"),
                            ("system", "Observatory itself"),
                            ("unknown", "nobody signed in"),
                        ],
                        max_length=10,
                    ),
                ),
                ("actor_name", models.CharField(blank=True, max_length=200)),
                (
                    "actor_id",
                    models.IntegerField(
                        help_text="The number of the account. It is never used again.", null=True
                    ),
                ),
                ("token", models.CharField(blank=True, max_length=200)),
                ("address", models.CharField(blank=True, max_length=100)),
                ("door", models.CharField(blank=True, max_length=20)),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("make", "made"),
                            ("change", "changed"),
                            ("revoke", "revoked"),
                            ("delete", "deleted"),
                            ("sign-in", "signed in"),
                            ("sign-out", "signed out"),
                            ("sign-in-failed", "failed to sign in"),
                            ("download", "downloaded"),
                            ("query", "queried"),
                        ],
                        max_length=20,
                    ),
                ),
                ("kind", models.CharField(help_text="What it is about: ingest token, rule.", max_length=100)),
                ("subject_id", models.CharField(blank=True, max_length=200)),
                ("subject", models.CharField(blank=True, help_text="Its name at that time.", max_length=300)),
                ("person_id", models.IntegerField(help_text="The account that it is about.", null=True)),
                (
                    "projects",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), default=list, size=None
                    ),
                ),
                ("changes", models.JSONField(default=dict, help_text="Values before and after, by field.")),
                (
                    "rows",
                    models.BigIntegerField(
                        default=1, help_text="More than one: that many were changed at once."
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(fields=["projects"], name="audit_projects"),
                    models.Index(fields=["at"], name="audit_at"),
                    models.Index(fields=["actor_id"], name="audit_actor"),
                    models.Index(fields=["person_id"], name="audit_person"),
                ],
            },
        ),
    ]
