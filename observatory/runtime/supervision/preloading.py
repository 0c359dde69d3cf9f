"""Imports what the programs of `up` need, once for all of them: they are forks of `up`."""

from __future__ import annotations

import gc
from importlib import import_module

from celery import Celery
from django.apps import apps
from django.urls import get_resolver, reverse

from observatory.base.memory import use_allocator_settings

MODULES = (
    *("celery.apps.worker", "celery.beat", "celery.concurrency.thread"),
    *("celery.events.state", "celery.worker.autoscale", "celery.worker.consumer", "kombu.transport.redis"),
    *(
        "channels.auth",
        "channels.security.websocket",
        "channels_redis.pubsub",
        "uvicorn.main",
        "uvicorn.loops.auto",
    ),
    *("uvicorn.protocols.websockets.auto", "whitenoise.middleware"),
    *("observatory.collect.collector.collector", "observatory.config.http.protocol"),
    *("observatory.replay.live.routing", "observatory.runtime.health.own_alert"),
)
"""what programs import beside the pages and Celery's tasks"""


def preload() -> None:
    """Import what the programs need. To be called before the first fork.

    Forks share a page of memory until one writes to it. The garbage collector would write to every object, so
    it leaves these alone.
    """
    use_allocator_settings()
    gc.disable()  # imports leave little garbage, and take a seventh longer while it is looked for
    try:
        _warm_up(_import_all())
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()


def _import_all() -> Celery:
    tasks: Celery = import_module("observatory.config.celery").app
    tasks.loader.init_worker()
    tasks.finalize()
    get_resolver().url_patterns  # noqa: B018  (loads the pages)
    for module in MODULES:
        import_module(module)
    return tasks


def _warm_up(tasks: Celery) -> None:
    """Fill the caches that each program would fill: of models, URLs and Celery's queues.

    A program's own objects lie in the gaps between those of modules, so that for 1 MiB of them it would copy
    some 10 MiB of pages that are shared.
    """
    for model in apps.get_models():
        str(model._default_manager.all().query)
    reverse("clusters")
    _ = tasks.amqp.queues, tasks.amqp.router
