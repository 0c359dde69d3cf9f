"""Numbers the workers of each cluster. A worker's position says which band of a layer it is in."""

from __future__ import annotations

from django.db import migrations

FORWARDS = (
    "ALTER TABLE worker ADD COLUMN position integer",
    """UPDATE worker SET position = numbered.position FROM (
           SELECT id, row_number() OVER (PARTITION BY cluster_id ORDER BY id) - 1 AS position FROM worker
       ) numbered WHERE numbered.id = worker.id""",
    "ALTER TABLE worker ALTER COLUMN position SET NOT NULL",
    "CREATE UNIQUE INDEX ON worker (cluster_id, position)",
    # they were made without bands and are built again when they are requested
    "DELETE FROM tile",
)


class Migration(migrations.Migration):
    dependencies = [("store", "0002_keys_are_looked_up_by_group")]
    operations = [migrations.RunSQL(FORWARDS, migrations.RunSQL.noop)]
