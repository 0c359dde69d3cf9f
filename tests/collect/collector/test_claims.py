"""Claims in Redis."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from observatory.base.redis_server import connect_async
from observatory.collect.collector.leases.claims import DURATION, RENEWAL, Claims


class SwallowingRedis:
    """Swallows a cancellation, as redis-py does before Python 3.12."""

    async def set(self, *what: object, **options: object) -> bool:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return True


async def test_a_cancellation_that_the_redis_client_swallows_still_ends_the_task() -> None:
    async def renew() -> None:
        while True:
            await Claims(SwallowingRedis()).hold("stream:Scheduler-1", 1)  # type: ignore[arg-type]

    renewing = asyncio.create_task(renew())
    await asyncio.sleep(0)
    renewing.cancel()
    done, _ = await asyncio.wait({renewing}, timeout=60)
    assert done
    with pytest.raises(asyncio.CancelledError):
        renewing.result()


async def test_claims_of_many_targets_at_once_are_all_checked() -> None:
    server = connect_async()
    try:
        claims = Claims(server)
        names = [f"observe:{number}" for number in range(400)]
        assert all(await asyncio.gather(*(claims.hold(name, 1) for name in names)))
        assert not any(await asyncio.gather(*(claims.hold(name, 2) for name in names)))
    finally:
        await server.aclose()


async def test_a_claim_is_renewed_before_it_expires_and_not_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = connect_async()
    try:
        claims = Claims(server)
        assert await claims.hold("observe:renewed", 1)
        await server.delete("observatory:claim:observe:renewed")
        assert await claims.hold("observe:renewed", 1)
        assert not await server.exists("observatory:claim:observe:renewed")
        monkeypatch.setattr("observatory.collect.collector.leases.claims.RENEWAL", 0.0)
        assert await claims.hold("observe:renewed", 1)
        assert 0 < await server.ttl("observatory:claim:observe:renewed") <= DURATION
        assert DURATION > 2 * RENEWAL
        assert not await claims.hold("observe:renewed", 2)
    finally:
        await server.aclose()


async def test_claims_that_are_renewed_at_one_time_take_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    server = connect_async()
    try:
        claims = Claims(server)
        names = [f"observe:together-{number}" for number in range(50)]
        assert all([await claims.hold(name, 1) for name in names])
        monkeypatch.setattr("observatory.collect.collector.leases.claims.RENEWAL", 0.0)
        await server.set(f"observatory:claim:{names[0]}", "2")
        requests = []
        pipeline = server.pipeline
        monkeypatch.setattr(server, "pipeline", lambda **options: requests.append(1) or pipeline(**options))
        held = await asyncio.gather(*(claims.hold(name, 1) for name in names))
        assert held == [False] + 49 * [True]
        assert len(requests) == 1
        assert 0 < await server.ttl(f"observatory:claim:{names[1]}") <= DURATION
    finally:
        await server.aclose()
