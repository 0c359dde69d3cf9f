"""How the processes reach Redis: a server over TLS, or the master that Sentinels name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from observatory.base.redis_server import redis_server
from tests.browser.observatory import ROOT
from tests.support.sentinels import SERVICE, Sentinels, sentinels

DEFAULT = "unix:///run/valkey.sock"
USES = """
import asyncio, json, sys, time
import django
django.setup()
from channels.layers import get_channel_layer
from django.core.cache import cache
from observatory.config.celery import app
from observatory.base.redis_server import connect, connect_async

async def by_asyncio():
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add("everybody", channel)
    await layer.group_send("everybody", {"type": "hello"})
    received = await asyncio.wait_for(layer.receive(channel), 60)
    return [received["type"], (await connect_async().get("kept")).decode()]

def use():
    connect().set("kept", "1")
    cache.set("cached", "2")
    with app.connection() as connection:
        queue = connection.SimpleQueue("tried")
        queue.put("3")
        message = queue.get(timeout=60)
        message.ack()
    port = connect().info("server")["tcp_port"]
    return [port, cache.get("cached"), message.payload, *asyncio.run(by_asyncio())]

for line in sys.stdin:  # one line for each time
    for attempt in range(60):
        try:
            print(json.dumps(use()), flush=True)
            break
        except Exception as error:
            failed = repr(error)
            time.sleep(1)
    else:
        sys.exit(failed)
"""


@pytest.fixture
def redis_behind_sentinels(tmp_path: Path) -> Iterator[Sentinels]:
    with sentinels(tmp_path) as found:
        yield found


def environment(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name in ("REDIS_URL", "REDIS_SENTINELS", "REDIS_SENTINEL_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_all_uses_of_redis_follow_the_sentinels_to_the_new_master(
    redis_behind_sentinels: Sentinels, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(monkeypatch, redis_behind_sentinels.environment)
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", USES], cwd=ROOT, text=True, **pipes) as used:
        assert used.stdin is not None
        assert used.stdout is not None
        for _ in range(2):
            master = redis_behind_sentinels.master()
            used.stdin.write("\n")
            used.stdin.flush()
            assert json.loads(used.stdout.readline()) == [master, "2", "3", "hello", "1"]
            redis_behind_sentinels.fail_over()
            assert redis_behind_sentinels.master() != master
        used.stdin.close()


def test_celery_checks_the_certificate_of_its_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, {"REDIS_URL": "rediss://:secret@redis:6380/1?ssl_ca_certs=/etc/ca.pem"})
    server = redis_server(DEFAULT)
    assert server.broker_url() == "rediss://:secret@redis:6380/1"
    assert server.broker_certificates() == {"ssl_cert_reqs": "required", "ssl_ca_certs": "/etc/ca.pem"}
    assert server.channel_host() == server.url


def test_without_variables_the_embedded_server_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, {})
    server = redis_server(DEFAULT)
    assert server.broker_url() == "redis+socket:///run/valkey.sock"
    assert server.broker_certificates() is None
    assert server.cache()["LOCATION"] == DEFAULT


def test_the_name_of_the_service_keeps_its_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(
        monkeypatch, {"REDIS_URL": f"redis://{SERVICE}/3", "REDIS_SENTINELS": "one two:26380, [::1]:1"}
    )
    server = redis_server(DEFAULT)
    assert server.service == SERVICE
    assert server.sentinels == (("one", 26379), ("two", 26380), ("::1", 1))
    assert server.broker_url().split(";")[1] == "sentinel://two:26380/3"


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"REDIS_URL": "http://redis"}, "REDIS_URL must begin with one of redis, rediss, unix"),
        ({"REDIS_URL": "redis://redis:port"}, "REDIS_URL is not valid"),
        ({"REDIS_URL": "redis://name:6379", "REDIS_SENTINELS": "one"}, "the name of their service"),
        ({"REDIS_SENTINELS": "one"}, "the name of their service"),
        ({"REDIS_URL": "redis://name", "REDIS_SENTINELS": "one:x"}, "REDIS_SENTINELS has 'one:x'"),
        ({"REDIS_URL": "redis://name", "REDIS_SENTINELS": "one " * 21}, "more than 20 addresses"),
        (
            {"REDIS_URL": "redis://name", "REDIS_SENTINELS": "redis://one"},
            "REDIS_SENTINELS has 'redis://one'",
        ),
    ],
)
def test_what_is_wrong_with_the_variables_is_named(
    variables: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(monkeypatch, variables)
    with pytest.raises(ImproperlyConfigured, match=says):
        redis_server(DEFAULT)
