"""Alerts of a real cluster, notified to a web server and by mail, with a link to their time."""

from __future__ import annotations

import os
import signal
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster, wait
from playwright.sync_api import Page

import observatory.agent
from tests.alerts.notifying.receivers import WEBHOOK, MailBox, Receiver, receiving, taking_mail
from tests.browser.observatory import Observatory
from tests.runtime.machine import eventually

pytestmark = pytest.mark.browser

LIMIT = 400_000_000
THREADS = 2
"""of each worker"""
SETTINGS = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause", "terminate")}
LOG_RULE = "About to fail"
PREPARE = """
from django.utils.timezone import now
from observatory.alerts.models import Channel, Condition, Rule
from observatory.alerts.secrets import encrypt
for key in ("cluster-memory", "gil-contention", "idle-cluster"):
    Rule.objects.filter(key=key).update(hold_seconds=2, changed=now())
rule = Rule.objects.create(name="{rule}", message="{{cluster}}: {{worker}} says {{text}}", severity="warning")
Condition.objects.create(
    rule=rule, kind="event", event="log", pattern=r"about to fail, \\d+", level=30, by="worker",
    window_seconds=5,
)
for name, kind, address in (("hook", "webhook", "{hook}"), ("mail", "apprise", "{mail}")):
    Channel.objects.create(
        name=name, kind=kind, secret=encrypt(address), minimum_severity="info", messages_an_hour=3600
    )
"""


def hold_memory(nbytes: int) -> bytes:
    return b"x" * nbytes


def hog_the_lock(while_exists: str) -> int:
    number = 0
    while number % 100_000 or os.path.exists(while_exists):
        number += 1
    return number


def warn(number: int) -> None:
    import logging

    logging.getLogger("distributed.worker").warning("about to fail, %d", number)


def process() -> int:
    return os.getpid()


def test_an_alert_is_notified_with_a_link_to_its_time(
    observatory: Observatory, page: Page, tmp_path: Path
) -> None:
    observatory.environment["OBSERVATORY_PUBLIC_URL"] = observatory.url
    workers: dict[str, Any] = {"n_workers": 2, "threads_per_worker": THREADS, "memory_limit": LIMIT}
    with receiving(WEBHOOK) as hook, taking_mail() as (mail, mail_port):
        observatory.start()
        address = f"mailto://127.0.0.1:{mail_port}?from=observatory@example.org&to=ops@example.org"
        observatory.manage(
            "shell", "-v", "0", "-c", PREPARE.format(rule=LOG_RULE, hook=hook.url, mail=address)
        )
        token = observatory.manage("ingest_token", "default").strip()

        def notification(rule: str, status: str = "firing") -> dict[str, Any]:
            eventually(
                lambda: _alerts(hook, rule, status), f"the webhook hears that “{rule}” is {status}", 240
            )
            return _alerts(hook, rule, status)[0]

        with (
            dask.config.set(SETTINGS),
            LocalCluster(**workers, silence_logs="CRITICAL", dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as client,
        ):
            _register(client, url=observatory.url, token=token)
            held = client.map(hold_memory, [280_000_000 + number for number in range(2)])
            wait(held)
            memory = notification("Memory pressure")
            del held
            memory_over = notification("Memory pressure", "resolved")

            spin = tmp_path / "spin"
            spin.touch()
            [one, _] = client.scheduler_info()["workers"]
            spinning = client.map(hog_the_lock, [str(spin)] * THREADS, workers=[one], pure=False)
            lock = notification("GIL contention")
            spin.unlink()
            wait(spinning)
            del spinning

            client.submit(warn, 7, pure=False).result()
            line = notification(LOG_RULE)

            pid = next(iter(client.run(process).values()))
            killed = time.time()
            os.kill(pid, signal.SIGKILL)
            lost = notification("Worker lost")
            idle = notification("Idle cluster")

        for alert in (memory, lock, line, lost, idle):
            assert alert["labels"]["cluster"] == "alarmed"
            eventually(
                lambda alert=alert: any(alert["labels"]["alertname"] in text for text in _texts(mail)),
                "the mail about it",
            )
        assert "of their memory" in memory["annotations"]["summary"]
        assert "wait for the GIL" in lock["annotations"]["summary"]
        assert "about to fail, 7" in line["annotations"]["summary"]
        assert lost["labels"]["worker"]
        assert abs(_seconds(lost["startsAt"]) - killed) < 60
        assert memory_over["fingerprint"] == memory["fingerprint"]
        assert _seconds(memory_over["endsAt"]) > _seconds(memory["startsAt"])
        assert any("about to fail, 7" in text and observatory.url in text for text in _texts(mail))

        observatory.sign_in(page)
        for alert in (line, lost):
            page.goto(alert["generatorURL"])
            page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
            playhead = page.evaluate("() => window.observatory.context.timeline.playhead")
            assert abs(playhead - _seconds(alert["startsAt"])) < 0.01


def _alerts(hook: Receiver, rule: str, status: str) -> list[dict[str, Any]]:
    """Return the webhook's "firing" or "resolved" notifications of a rule."""
    return [
        alert
        for body in list(hook.bodies)
        for alert in body["alerts"]
        if alert["labels"]["alertname"] == rule and alert["status"] == status
    ]


def _texts(mail: MailBox) -> list[str]:
    """Return the subject and text of each mail."""
    bodies = [(message, message.get_body(("plain", "html"))) for message in list(mail.mails)]
    return [f"{message['Subject']}\n{body.get_content() if body else ''}" for message, body in bodies]


def _register(client: Client, url: str, token: str) -> None:
    observatory.agent.register(client, url=url, token=token, name="alarmed", flush_interval="500ms")


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
