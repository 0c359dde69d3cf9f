"""Checks of the components, for /readyz and `doctor`."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import psycopg
import redis
from celery.exceptions import OperationalError as BrokerError
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import Error as DatabaseError
from django.utils.timezone import now

from observatory.alerts.evaluation import health
from observatory.base.redis_server import connect as connect_to_redis
from observatory.clusters.formatting import format_age, format_bytes
from observatory.clusters.live.agents import live_agents
from observatory.clusters.live.status import TAKEN_STREAMS
from observatory.clusters.models import Target
from observatory.clusters.tokens import ingest_refusals
from observatory.collect.quarantine.folder import files, folder
from observatory.exchange.receivers.health import failing_receivers
from observatory.runs.retention.quotas import full_projects
from observatory.runtime.health import archive
from observatory.runtime.health import process_heartbeats as beats
from observatory.runtime.health.celery_ping import ping
from observatory.store.connection import connect
from observatory.store.engines import choose
from observatory.store.outages.free_space import DISK_FULL, is_reserve_used, storage_faults

MINIMUM_DISK = 2 << 30
"""bytes that must be free"""
MAXIMUM_LAG = 30.0
"""seconds by which the evaluation of rules may be behind the data, and an agent behind its cluster"""
MAXIMUM_SILENCE = 30.0
"""seconds without a batch of an agent, which sends one a second"""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one component. `remedy` says how to fix a failure."""

    component: str
    ok: bool
    text: str
    remedy: str = ""
    reason: str = ""
    """of a failure, for anybody: without addresses and versions"""


NO_DATABASE = "the database does not answer"
FREE_DISK = "free disk space; what waits is then stored"
MAKE_WRITABLE = "let Observatory's user write to it, see its log; what waits is then stored"


def database() -> CheckResult:
    try:
        with connect() as connected:
            version = str(connected.execute("SHOW server_version").fetchone()[0])  # type: ignore[index]
            name = choose(connected).name
    except Exception as error:  # psycopg's and the operating system's
        if is_reserve_used():
            return CheckResult("database", False, "it stopped: its disk is full", FREE_DISK, NO_DATABASE)
        reason = " ".join(str(error).split())
        return CheckResult(
            "database",
            False,
            f"no answer: {reason}",
            "start it, or correct DATABASE_URL",
            NO_DATABASE,
        )
    if fault := storage_faults().database:
        remedy = FREE_DISK if fault == DISK_FULL else MAKE_WRITABLE
        return CheckResult(
            "database", False, f"{fault}, nothing is recorded", remedy, f"the database: {fault}"
        )
    kind = "TimescaleDB on PostgreSQL" if name == "timescale" else "plain PostgreSQL"
    return CheckResult("database", True, f"{kind} {version}")


def migrations() -> CheckResult:
    try:
        missing = len(_all_migrations() - MigrationRecorder(connection).applied_migrations().keys())
    except DatabaseError as error:
        text = str(error).split("\n")[0]
        return CheckResult("migrations", False, text, "see the database", NO_DATABASE)
    if missing:
        text = f"{missing} not applied"
        return CheckResult("migrations", False, text, "run `dask-observatory migrate`", f"migrations: {text}")
    return CheckResult("migrations", True, "all applied")


@cache
def _all_migrations() -> Set[tuple[str, str]]:
    """The migrations in the sources, which take longer to read than to compare with the applied ones."""
    return frozenset(MigrationLoader(None).graph.nodes)


def redis_server() -> CheckResult:
    try:
        info = connect_to_redis().info("server")
    except (redis.RedisError, ValueError) as error:
        remedy = "start it, or correct REDIS_URL"
        return CheckResult("redis", False, f"no answer: {error}", remedy, "Redis does not answer")
    if fault := storage_faults().redis:
        text = f"{fault}; alerts, runs and tiles wait"
        remedy = FREE_DISK if fault == DISK_FULL else "see its log"
        return CheckResult("redis", False, text, remedy, f"Redis: {fault}")
    if "valkey_version" in info:
        return CheckResult("redis", True, f"Valkey {info['valkey_version']}")
    return CheckResult("redis", True, f"Redis {info['redis_version']}")


def collector() -> CheckResult:
    try:
        living = beats.collectors(connect_to_redis())
    except redis.RedisError as error:
        return CheckResult("collector", False, f"unknown: {error}", "see redis")
    if not living:
        return CheckResult(
            "collector", False, "no heartbeat", "run `dask-observatory collect`, or see its log"
        )
    return CheckResult("collector", True, f"{len(living)} running")


def celery() -> CheckResult:
    try:
        age = beats.beat_age(connect_to_redis())
        waiting = beats.queue_length(connect_to_redis())
    except redis.RedisError as error:
        return CheckResult("celery", False, f"unknown: {error}", "see redis")
    if age is not None and age <= beats.MAXIMUM_BEAT_AGE:
        return CheckResult("celery", True, f"worker and beat running, {waiting:,} tasks waiting")
    since = "an hour" if age is None else f"{age:.1f} s"
    text = f"no heartbeat for {since}, {waiting:,} tasks waiting"
    try:
        answers = ping(2.0)
    except (redis.RedisError, BrokerError, OSError) as error:
        return CheckResult("celery", False, f"{text}; no request is possible: {error}", "see redis")
    if answers:
        return CheckResult(
            "celery", False, f"{text}; a worker answers", "start Celery's beat, or see its log"
        )
    return CheckResult("celery", False, f"{text}; no worker answers", "start Celery's worker, or see its log")


def targets() -> Iterator[CheckResult]:
    """One result for each enabled target."""
    try:
        for target in Target.objects.filter(enabled=True):
            name = f"target {target.name}"
            if target.last_error:
                remedy = f"see that {target.url} answers, or disable the target"
                yield CheckResult(name, False, target.last_error, remedy)
            elif sentence := TAKEN_STREAMS.get(Target.Stream(target.stream)):
                text, remedy = sentence.split(". ", 1)
                yield CheckResult(name, False, text, remedy)
            else:
                yield CheckResult(name, True, f"{target.url}, event stream {target.get_stream_display()}")
    except DatabaseError as error:
        yield CheckResult("targets", False, str(error).split("\n")[0], "see the database")


def agents() -> Iterator[CheckResult]:
    """One result for each agent of a live cluster, and for each refusal of the last minutes."""
    try:
        for agent in live_agents():
            silent = agent.silence > MAXIMUM_SILENCE
            remedy = (
                "see the log of its scheduler: the agent says why it cannot send"
                if silent
                else "it sends its backlog; if it does not catch up, the server is too slow for it"
            )
            is_ok = not silent and (agent.behind or 0.0) <= MAXIMUM_LAG
            yield CheckResult(f"agent of {agent.cluster.name}", is_ok, agent.sentence, remedy)
        for refusal in ingest_refusals.current():
            name = f"agents with the token {refusal.token.name}" if refusal.token else "agents"
            text = f"refused {format_age((now() - refusal.last).total_seconds())}: {refusal}"
            remedy = "correct the agent's token, or its version"
            yield CheckResult(name, False, f"{text} (from {refusal.address})", remedy)
    except DatabaseError as error:
        yield CheckResult("agents", False, str(error).split("\n")[0], "see the database")


def evaluation() -> CheckResult:
    """The evaluation's lag. Raises DatabaseError."""
    lag = health.lag(time.time())
    remedy = "see the log of Celery's workers; rules over long windows of many series take longest"
    text = "up to date" if lag <= MAXIMUM_LAG else f"{lag:.1f} s behind the recorded data"
    return CheckResult("alerts", lag <= MAXIMUM_LAG, text, remedy)


def alerts() -> Iterator[CheckResult]:
    """The evaluation's lag, and one result for each rule and channel that fails."""
    try:
        yield evaluation()
        for rule in health.failing_rules():
            yield CheckResult(
                f"rule {rule.name}", False, rule.error, "correct it in the admin, or disable it"
            )
        for channel, error in health.failing_channels():
            remedy = "correct its address in the admin and send a test, or disable it"
            yield CheckResult(
                f"channel {channel.name}", False, error or "notifications cannot be sent", remedy
            )
    except DatabaseError as error:
        yield CheckResult("alerts", False, str(error).split("\n")[0], "see the database")


def receivers() -> Iterator[CheckResult]:
    """One result for each receiver of runs that fails."""
    try:
        for receiver, error in failing_receivers():
            remedy = "correct its address in the admin and send a test, or disable it"
            yield CheckResult(f"receiver {receiver.name}", False, error or "runs cannot be sent", remedy)
    except DatabaseError as error:
        yield CheckResult("receivers", False, str(error).split("\n")[0], "see the database")


def disk() -> CheckResult:
    try:
        free = shutil.disk_usage(settings.DATA_DIR).free
    except OSError as error:
        return CheckResult(
            "data folder", True, f"{settings.DATA_DIR} does not exist ({error.strerror}): not used"
        )
    text = f"{settings.DATA_DIR}, {free / (1 << 30):.1f} GiB free"
    return CheckResult(
        "data folder", free > MINIMUM_DISK, text, "free disk space, or shorten the projects' retention"
    )


def quarantined_batches() -> dict[str, int]:
    """The number of batches in quarantine by host: this one, and those of the live collectors."""
    counts = {socket.gethostname()[:60]: len(files())}
    with suppress(redis.RedisError, ValueError):
        for state in beats.collectors(connect_to_redis()):
            host = state["id"].split(":")[0]
            counts[host] = max(counts.get(host, 0), state.get("quarantined", 0))
    return counts


def quarantine() -> CheckResult:
    counts = {host: count for host, count in quarantined_batches().items() if count}
    if not counts:
        return CheckResult("quarantine", True, "empty")
    hosts = ", ".join(f"{count:,} on {host}" for host, count in counts.items())
    remedy = "run `dask-observatory quarantine` there: it lists them, and with --retry stores them"
    return CheckResult(
        "quarantine", False, f"batches that could not be stored, in {folder()}: {hosts}", remedy
    )


def archived() -> CheckResult:
    """The archive, whether there is one or not."""
    try:
        found = archive.progress()
        fault, remedy = archive.fault(found)
    except psycopg.Error as error:
        return CheckResult("archive", False, str(error).split("\n")[0], "see the database")
    if fault:
        return CheckResult("archive", False, fault, remedy)
    return CheckResult("archive", True, archive.sentence(found) if settings.ARCHIVE else "none")


def scan_cluster() -> CheckResult:
    """The Dask cluster for long searches of the archive."""
    ok, text = archive.scan_cluster()
    return CheckResult("scans", ok, text, "" if ok else "until then searches of the archive are made here")


def quotas() -> CheckResult:
    """Projects that have nearly used up what they may store."""
    texts = [
        f"{project.slug} has used {project.quota_used:.0%} of {format_bytes(project.quota_bytes or 0)}"
        for project in full_projects()
    ]
    remedy = "delete or unpin runs, shorten the retention, or raise the quota in the admin"
    return CheckResult("quotas", not texts, "; ".join(texts) or "none is nearly used up", remedy)


def security() -> CheckResult:
    """Settings that are unsafe when others have access."""
    faults = []
    if settings.DEBUG:
        faults.append("OBSERVATORY_DEBUG shows tracebacks to everybody: set it to 0")
    local = set(settings.ALLOWED_HOSTS) <= {"localhost", "127.0.0.1", "[::1]"}
    if not local and not settings.HTTPS:
        faults.append("cookies are not encrypted: set OBSERVATORY_PUBLIC_URL to an address with https://")
    if faults:
        return CheckResult("settings", False, "unsafe when others have access", "; ".join(faults))
    return CheckResult("settings", True, settings.PUBLIC_URL or "for this machine only")


def ready() -> list[CheckResult]:
    """Checks of what requests need."""
    first = database()
    unknown = CheckResult("migrations", False, "unknown", "see the database", first.reason)
    return [first, unknown if first.reason == NO_DATABASE else migrations(), redis_server()]


def own_faults() -> list[CheckResult]:
    """The failed checks of what rules depend on, and of the collectors.

    A disk that fills up is for the rule “Observatory's disk”, and a full one is a failure of the database.
    """
    results = ready()
    if all(result.ok for result in results):
        results += [collector(), celery(), evaluation()]
    return [result for result in results if not result.ok]


def run_checks() -> Iterator[CheckResult]:
    """All checks; without database or Redis only those that need neither."""
    yield security()
    yield disk()
    yield quarantine()
    necessary = ready()
    yield from necessary
    if not all(result.ok for result in necessary):
        return
    yield collector()
    yield celery()
    yield from targets()
    yield from agents()
    yield from alerts()
    yield from receivers()
    yield archived()
    if settings.SCAN_SCHEDULER:
        yield scan_cluster()
    yield quotas()
