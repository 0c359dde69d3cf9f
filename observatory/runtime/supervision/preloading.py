"""Imports what the programs of `up` need, once for all of them: they are forks of `up`."""

from __future__ import annotations

import gc
from importlib import import_module

from django.urls import get_resolver

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
        _import_all()
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()


def _import_all() -> None:
    tasks = import_module("observatory.config.celery").app
    tasks.loader.import_default_modules()
    tasks.finalize()
    get_resolver().url_patterns  # noqa: B018  (loads the pages)
    for module in MODULES:
        import_module(module)
