from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("exchange", "0002_texts")]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="message",
            field=models.CharField(
                blank=True, help_text="Why it failed, or what an import left out.", max_length=1000
            ),
        ),
    ]
