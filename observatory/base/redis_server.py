"""How the processes reach Redis: the server of REDIS_URL, or the master that Sentinels name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from observatory.base.environment import text, words

if TYPE_CHECKING:  # the supervisor of `up` reads the settings, and needs no Redis
    import redis
    import redis.asyncio

TIMEOUT = 3.0
TIMEOUTS = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
"""seconds to an answer, and to connect"""
SENTINEL_PORT = 26379
SCHEMES = ("redis", "rediss", "unix")
MOST_SENTINELS = 20
WORKER = "dask-observatory-worker"
"""name of the connections of Celery's workers to the broker"""


@dataclass(frozen=True)
class RedisServer:
    """A Redis server. With `sentinels` (host, port), the host of `url` is the name of its service there."""

    url: str
    sentinels: tuple[tuple[str, int], ...] = ()
    sentinel_password: str = ""

    @property
    def service(self) -> str:
        return unquote(urlsplit(self.url).netloc.rpartition("@")[2])

    def connection_options(self) -> dict[str, Any]:
        """Arguments of redis-py's connections to the service's servers, without their address."""
        from redis.connection import parse_url

        options = dict(parse_url(self.url))  # type: ignore[no-untyped-call]
        for name in ("host", "port", "connection_class"):
            options.pop(name, None)
        return {**options, **({"ssl": True} if self._is_encrypted else {})}

    def sentinel_options(self) -> dict[str, Any]:
        """Arguments of redis-py's connections to the Sentinels."""
        options: dict[str, Any] = {**TIMEOUTS}
        if self.sentinel_password:
            options["password"] = self.sentinel_password
        if self._is_encrypted:
            options |= {"ssl": True, **self._certificates}
        return options

    def cache(self) -> dict[str, Any]:
        """Django's cache."""
        backend = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": self.url}
        if not self.sentinels:
            return backend
        return {**backend, "OPTIONS": {"pool_class": "observatory.base.redis_master.MasterPool"}}

    def channel_host(self) -> str | dict[str, Any]:
        """The host of the channel layer."""
        if not self.sentinels:
            return self.url
        return {
            "master_name": self.service,
            "sentinels": list(self.sentinels),
            "sentinel_kwargs": self.sentinel_options(),
            **self.connection_options(),
        }

    def broker_url(self) -> str:
        """Celery's broker."""
        parsed = urlsplit(self.url)
        if parsed.scheme == "unix":
            return self.url.replace("unix://", "redis+socket://", 1)
        if not self.sentinels:
            return parsed._replace(query="").geturl()
        credentials = parsed.netloc.rpartition("@")[0]
        account = f"{credentials}@" if credentials else ""
        path = parsed.path or "/0"
        return ";".join(f"sentinel://{account}{host}:{port}{path}" for host, port in self.sentinels)

    def broker_certificates(self) -> dict[str, Any] | None:
        """How Celery checks the broker's certificate; None without TLS."""
        return {"ssl_cert_reqs": "required", **self._certificates} if self._is_encrypted else None

    def broker_options(self) -> dict[str, Any]:
        """Options of the connections to Celery's broker."""
        # seconds of a wait for the next task, which arrives at once: a second, the default, only wakes up
        options: dict[str, Any] = {"polling_interval": 10, "client_name": WORKER}
        if self.sentinels:
            options |= {"master_name": self.service, "sentinel_kwargs": self.sentinel_options()}
            # a master whose machine is gone closes no connection; longer than a wait for the next task
            options |= {"socket_timeout": 20, "socket_connect_timeout": TIMEOUT, "socket_keepalive": True}
        return options

    @property
    def _is_encrypted(self) -> bool:
        return self.url.startswith("rediss:")

    @property
    def _certificates(self) -> dict[str, Any]:
        """The options of TLS in the URL, such as ssl_ca_certs."""
        return {name: value for name, value in self.connection_options().items() if name.startswith("ssl_")}


def redis_server(default_url: str) -> RedisServer:
    """REDIS_URL with REDIS_SENTINELS and REDIS_SENTINEL_PASSWORD. Raises ImproperlyConfigured."""
    url = text("REDIS_URL", default_url)
    try:
        parsed = urlsplit(url)
        _ = parsed.port
    except ValueError as error:
        raise ImproperlyConfigured(f"REDIS_URL is not valid: {error}") from None
    if parsed.scheme not in SCHEMES:
        raise ImproperlyConfigured(f"REDIS_URL must begin with one of {', '.join(SCHEMES)}://")
    addresses = words("REDIS_SENTINELS", "")
    if len(addresses) > MOST_SENTINELS:
        raise ImproperlyConfigured(f"REDIS_SENTINELS has more than {MOST_SENTINELS} addresses")
    sentinels = tuple(map(_sentinel, addresses))
    if sentinels and (parsed.scheme == "unix" or not parsed.hostname or parsed.port):
        raise ImproperlyConfigured(
            "with REDIS_SENTINELS, REDIS_URL has the name of their service in place of the host, and no "
            "port: redis://:password@mymaster/0"
        )
    return RedisServer(url, sentinels, text("REDIS_SENTINEL_PASSWORD", ""))


def _sentinel(word: str) -> tuple[str, int]:
    try:
        parsed = urlsplit(f"//{word}")
        host, port = parsed.hostname, parsed.port
    except ValueError:
        host, port = None, None
    if not host or parsed.path or parsed.username:
        raise ImproperlyConfigured(f"REDIS_SENTINELS has {word!r}: it takes hosts with ports, as one:26379")
    return host, port or SENTINEL_PORT


def connect() -> redis.Redis:
    """A client for the server of the settings, with short timeouts."""
    import redis

    server = settings.REDIS
    if not server.sentinels:
        return redis.Redis.from_url(server.url, **TIMEOUTS)
    from observatory.base.redis_master import MasterPool

    return redis.Redis.from_pool(MasterPool.from_url(server.url, **TIMEOUTS))


def connect_async() -> redis.asyncio.Redis:
    """As `connect`, for asyncio."""
    import redis.asyncio
    import redis.asyncio.sentinel

    server = settings.REDIS
    if not server.sentinels:
        return redis.asyncio.from_url(server.url, **TIMEOUTS)
    sentinels = redis.asyncio.sentinel.Sentinel(  # type: ignore[no-untyped-call]
        list(server.sentinels), sentinel_kwargs=server.sentinel_options()
    )
    client: redis.asyncio.Redis = sentinels.master_for(
        server.service, **{**server.connection_options(), **TIMEOUTS}
    )
    return client
