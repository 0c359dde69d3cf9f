"""Renames the model Search to RunDiscovery. Its table keeps its name."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_search_for_runs")]

    operations = [
        migrations.AlterModelTable("search", "runs_search"),
        migrations.RenameModel("Search", "RunDiscovery"),
    ]
