from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0012_target_credentials"),
    ]

    operations = [
        migrations.AddField(
            model_name="accesstoken",
            name="scopes",
            field=models.JSONField(
                default=list, editable=False, help_text="What it may change, out of Scope, beside reading."
            ),
        ),
    ]
