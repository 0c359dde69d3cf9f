"""Drops the hashes of keys: a task is found by its group and the rest of its key. Makes indexes for that."""

from __future__ import annotations

from django.db import migrations

BLOCKS = "WITH (pages_per_range = 32, autosummarize = on)"
KEYS = "text_bloom_ops (n_distinct_per_range = 2000, false_positive_rate = 0.001)"
HASHED = ("span", "transition", "error", "dependency", "task", "steal")


def by_key(table: str, group: str = "group_id", rest: str = "key_rest") -> list[str]:
    return [
        f"CREATE INDEX ON {table} USING brin ({group}) {BLOCKS}",
        f"CREATE INDEX ON {table} USING brin ({rest} {KEYS}) {BLOCKS}",
    ]


FORWARDS = (
    *(f"ALTER TABLE {table} DROP COLUMN key_hash" for table in HASHED),
    "ALTER TABLE dependency DROP COLUMN depends_on_hash",
    "DROP INDEX span_start_stop_idx",
    f"CREATE INDEX ON span USING brin (start) {BLOCKS}",
    f"CREATE INDEX ON span USING brin (stop) {BLOCKS}",
    "DROP INDEX transition_time_idx",
    f"CREATE INDEX ON transition USING brin (time) {BLOCKS}",
    f"CREATE INDEX ON dependency USING brin (time) {BLOCKS}",
    f"CREATE INDEX ON task USING brin (time) {BLOCKS}",
    *by_key("span"),
    *by_key("transition"),
    *by_key("error"),
    *by_key("dependency"),
    *by_key("dependency", "depends_on_group_id", "depends_on_rest"),
    *by_key("task"),
)


class Migration(migrations.Migration):
    dependencies = [("store", "0001_tables")]
    operations = [migrations.RunSQL(FORWARDS, migrations.RunSQL.noop)]
