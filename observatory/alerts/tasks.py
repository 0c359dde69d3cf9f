"""What Celery does for alerts: evaluates rules.

Clusters are divided into shards by their ids. Those of live clusters follow each other, so the shards are
alike without anybody knowing how many there are; and a shard is evaluated by one task at a time, so that a
round that takes long takes no more threads than there are shards.
"""

from __future__ import annotations

import time

from celery import shared_task
from django.db.models import F
from django.db.models.functions import Mod

from observatory.alerts.evaluation.evaluator import clusters_to_evaluate, evaluate
from observatory.store.connection import reading
from observatory.store.maintenance.advisory_lock import RULES, working

SHARDS = 2
ROUND = 2.0
"""seconds between two rounds"""


@shared_task  # type: ignore[untyped-decorator]
def evaluate_rules() -> None:
    """Starts a round."""
    for shard in range(SHARDS):
        evaluate_shard.apply_async((shard,), expires=ROUND)


@shared_task  # type: ignore[untyped-decorator]
def evaluate_shard(shard: int) -> None:
    """Takes a step with each cluster of the shard, unless somebody is about it."""
    with reading() as connection, working(connection, shard, RULES) as is_ours:
        if is_ours:
            now = time.time()
            clusters = clusters_to_evaluate(now).annotate(shard=Mod(F("pk"), SHARDS)).filter(shard=shard)
            evaluate(connection, list(clusters.order_by("pk")), now)
