"""Celery tasks that evaluate rules.

Clusters are divided into shards by id, which spreads live clusters evenly. One task at a time evaluates a
shard, so that slow rounds don't use more threads than there are shards.
"""

from __future__ import annotations

import time

from celery import shared_task
from django.db.models import F
from django.db.models.functions import Mod

from observatory.alerts.evaluation.evaluator import clusters_to_evaluate, evaluate
from observatory.store.connection import read_connection
from observatory.store.maintenance.advisory_lock import RULES, try_lock

SHARDS = 2
ROUND = 2.0
"""seconds between the starts of two rounds"""


@shared_task  # type: ignore[untyped-decorator]
def evaluate_rules() -> None:
    """Starts a round."""
    for shard in range(SHARDS):
        evaluate_shard.apply_async((shard,), expires=ROUND)


@shared_task  # type: ignore[untyped-decorator]
def evaluate_shard(shard: int) -> None:
    """Evaluates each cluster of the shard, unless another task is evaluating it."""
    with read_connection() as connection, try_lock(connection, shard, RULES) as is_ours:
        if is_ours:
            now = time.time()
            clusters = clusters_to_evaluate(now).annotate(shard=Mod(F("pk"), SHARDS)).filter(shard=shard)
            evaluate(connection, list(clusters.order_by("pk")), now)
