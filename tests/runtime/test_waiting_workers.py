"""Celery's workers wait at Redis for their next task; one that is asked to stop does not wait on."""

from __future__ import annotations

import threading

import pytest
from celery.signals import worker_shutting_down
from django.conf import settings

from observatory.base import redis_server
from observatory.config.celery import app
from observatory.runtime import tasks  # noqa: F401 - it connects to the signal
from tests.runtime.machine import eventually


def wait_for_a_task(name: str, queue: str) -> threading.Thread:
    """A connection called `name` that waits for an element of the list `queue`."""
    server = redis_server.connect()
    server.connection_pool.connection_kwargs |= {"client_name": name, "socket_timeout": None}
    thread = threading.Thread(target=server.brpop, args=([queue], 60))
    thread.start()
    eventually(lambda: name in waiting(), f"{name} waits")
    return thread


def waiting() -> list[str]:
    clients = redis_server.connect().client_list()
    # "cmd" is the last command, also of a connection that nobody uses and that isn't closed yet
    return [client["name"] for client in clients if "b" in client["flags"]]


def test_a_worker_that_is_asked_to_stop_does_not_wait_for_a_task(request: pytest.FixtureRequest) -> None:
    queue = request.node.name
    worker = wait_for_a_task(redis_server.WORKER, queue)
    other = wait_for_a_task("other", queue)
    worker_shutting_down.send(sender=None)
    worker.join(30)
    assert not worker.is_alive()
    assert waiting() == ["other"], "that of another application waits on"
    redis_server.connect().lpush(queue, "task")
    other.join(30)
    assert not other.is_alive()


def test_the_connections_of_workers_have_their_name() -> None:
    app.config_from_object("django.conf:settings", namespace="CELERY")
    assert app.conf.broker_transport_options == settings.REDIS.broker_options()
    with app.connection_for_read() as connection:
        channel = connection.default_channel
        assert channel.client.client_getname() == redis_server.WORKER
