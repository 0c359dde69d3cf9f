"""What Observatory is made of, asked one by one: for /readyz and `doctor`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import Error as DatabaseError

from observatory.alerts.evaluation import health
from observatory.clusters.models import Target
from observatory.config.celery import app
from observatory.runtime.health import heartbeats as beats
from observatory.store.connection import connect
from observatory.store.engines import choose

LATEST_BEAT = 60.0
LEAST_DISK = 2 << 30
LONGEST_LAG = 30.0
"""seconds of data that rules may not be evaluated over yet"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one component. `remedy` says what to do when it isn't fine."""

    component: str
    fine: bool
    text: str
    remedy: str = ""


def database() -> Finding:
    try:
        with connect() as connected:
            version = str(connected.execute("SHOW server_version").fetchone()[0])  # type: ignore[index]
            name = choose(connected).name
    except Exception as error:  # psycopg's and the operating system's
        reason = " ".join(str(error).split())
        return Finding("database", False, f"no answer: {reason}", "start it, or correct DATABASE_URL")
    kind = "TimescaleDB on PostgreSQL" if name == "timescale" else "plain PostgreSQL"
    return Finding("database", True, f"{kind} {version}")


def migrations() -> Finding:
    try:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError as error:
        return Finding("migrations", False, str(error).split("\n")[0], "see the database")
    if missing:
        return Finding("migrations", False, f"{missing} are missing", "run `manage.py migrate`")
    return Finding("migrations", True, "all applied")


def redis_server() -> Finding:
    try:
        info = beats.connect().info("server")
    except (redis.RedisError, ValueError) as error:
        return Finding("redis", False, f"no answer: {error}", "start it, or correct REDIS_URL")
    if "valkey_version" in info:
        return Finding("redis", True, f"Valkey {info['valkey_version']}")
    return Finding("redis", True, f"Redis {info['redis_version']}")


def collector() -> Finding:
    try:
        living = beats.collectors(beats.connect())
    except redis.RedisError as error:
        return Finding("collector", False, f"unknown: {error}", "see redis")
    if not living:
        return Finding(
            "collector", False, "none gives a sign of life", "run `manage.py collect`, or see its log"
        )
    return Finding("collector", True, f"{len(living)} at work")


def celery() -> Finding:
    try:
        age = beats.beat_age(beats.connect())
        waiting = beats.queue_length(beats.connect())
    except redis.RedisError as error:
        return Finding("celery", False, f"unknown: {error}", "see redis")
    if age is not None and age <= LATEST_BEAT:
        return Finding("celery", True, f"worker and beat at work, {waiting} tasks wait")
    since = "within the hour" if age is None else f"for {age:.0f} s"
    text = f"has done nothing {since}, {waiting} tasks wait"
    if app.control.ping(timeout=2.0):
        return Finding("celery", False, f"{text}; the worker answers", "start Celery's beat, or see its log")
    return Finding("celery", False, f"{text}; no worker answers", "start Celery's worker, or see its log")


def targets() -> Iterator[Finding]:
    """One finding a target that is enabled."""
    try:
        for target in Target.objects.filter(enabled=True):
            name = f"target {target.name}"
            if target.last_error:
                remedy = f"see that {target.url} answers, or disable the target"
                yield Finding(name, False, target.last_error, remedy)
            elif target.stream == Target.Stream.STOLEN:
                remedy = "find who else reads /eventstream of that scheduler: it serves one at a time"
                yield Finding(name, False, "another subscriber took its event stream", remedy)
            else:
                yield Finding(name, True, f"{target.url}, event stream {target.get_stream_display()}")
    except DatabaseError as error:
        yield Finding("targets", False, str(error).split("\n")[0], "see the database")


def alerts() -> Iterator[Finding]:
    """How the evaluation goes, and a finding each rule and channel that fails."""
    try:
        lag = health.lag()
        remedy = "see the log of Celery's workers; rules over long windows of many series take longest"
        words = "no live cluster waits" if lag <= LONGEST_LAG else f"{lag:.0f} s behind what is recorded"
        yield Finding("alerts", lag <= LONGEST_LAG, words, remedy)
        for rule in health.failing_rules():
            yield Finding(f"rule {rule.name}", False, rule.error, "correct it in the admin, or disable it")
        for channel, error in health.failing_channels():
            remedy = "correct its address in the admin and send a test, or disable it"
            yield Finding(f"channel {channel.name}", False, error or "it can't be told", remedy)
    except DatabaseError as error:
        yield Finding("alerts", False, str(error).split("\n")[0], "see the database")


def disk() -> Finding:
    try:
        free = shutil.disk_usage(settings.DATA_DIR).free
    except OSError as error:
        return Finding(
            "data folder", True, f"{settings.DATA_DIR} isn't there ({error.strerror}): it isn't used"
        )
    text = f"{settings.DATA_DIR}, {free / (1 << 30):.1f} GiB free"
    return Finding("data folder", free > LEAST_DISK, text, "make room, or shorten the projects' retention")


def security() -> Finding:
    """Settings that are right on one's own machine alone."""
    faults = []
    if settings.DEBUG:
        faults.append("OBSERVATORY_DEBUG shows tracebacks to everybody: set it to 0")
    local = set(settings.ALLOWED_HOSTS) <= {"localhost", "127.0.0.1", "[::1]"}
    if not local and not settings.HTTPS:
        faults.append("cookies travel in the clear: set OBSERVATORY_PUBLIC_URL to an address with https://")
    if faults:
        return Finding("settings", False, "not fit for others to use", "; ".join(faults))
    return Finding("settings", True, settings.PUBLIC_URL or "for this machine alone")


def ready() -> list[Finding]:
    """What has to be fine for requests to be answered."""
    asked = database()
    unknown = Finding("migrations", False, "unknown", "see the database")
    return [asked, migrations() if asked.fine else unknown, redis_server()]


def all_findings() -> Iterator[Finding]:
    yield security()
    yield disk()
    necessary = ready()
    yield from necessary
    if not all(finding.fine for finding in necessary):
        return  # the others can't be asked without these
    yield collector()
    yield celery()
    yield from targets()
    yield from alerts()
