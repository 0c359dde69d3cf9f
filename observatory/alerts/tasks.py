"""Celery tasks that evaluate rules, and start the delivery of what became due.

Clusters are divided into shards by id, which spreads live clusters evenly. One task at a time evaluates a
shard, so that slow rounds don't use more threads than there are shards.
"""

from __future__ import annotations

import time

from celery import shared_task
from django.db.models import F
from django.db.models.functions import Mod

from observatory.alerts.evaluation.evaluator import clusters_to_evaluate, evaluate
from observatory.alerts.notifying.tasks import deliver
from observatory.store.connection import read_connection
from observatory.store.maintenance.advisory_lock import RULES, try_lock

SHARDS = 2
ROUND = 2.0
"""seconds between the starts of two rounds"""
FOLLOWING = 4
"""rounds that follow each scheduled one, until the next one is scheduled"""
CLUSTERS_OF_ROUND = 500
"""clusters up to which a round begins each ROUND; it is each second one up to twice as many, and so on: each
cluster then has longer steps (evaluation/evaluator.py)"""


@shared_task  # type: ignore[untyped-decorator]
def start_round(following: int = FOLLOWING) -> None:
    """Starts the evaluation of each shard that has clusters, deliveries, and the following round.

    None for empty shards, and none follows without other clusters than Observatory's own: at rest, tasks are
    what an installation costs.
    """
    try:
        is_own = dict(clusters_to_evaluate(time.time()).values_list("pk", "project__is_own"))
        rounds = 1 + min(FOLLOWING, len(is_own) // CLUSTERS_OF_ROUND)
        for shard in sorted({key % SHARDS for key in is_own}):
            evaluate_shard.apply_async((shard,), expires=rounds * ROUND)
        if following >= rounds and not all(is_own.values()):
            seconds = rounds * ROUND
            start_round.apply_async((following - rounds,), countdown=seconds, expires=2 * seconds)
    finally:
        deliver()


@shared_task  # type: ignore[untyped-decorator]
def evaluate_shard(shard: int) -> None:
    """Evaluates each cluster of the shard, unless another task is evaluating it."""
    with read_connection() as connection, try_lock(connection, shard, RULES) as is_ours:
        if is_ours:
            now = time.time()
            clusters = clusters_to_evaluate(now).annotate(shard=Mod(F("pk"), SHARDS)).filter(shard=shard)
            evaluate(connection, list(clusters.order_by("pk")), now)
