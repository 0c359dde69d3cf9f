"""The page around a worker's own pages, and what it says where there are none."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from observatory.clusters.models import Cluster
from observatory.collect.worker_pages import worker_client
from observatory.runs.models import Permalink
from observatory.runs.sharing.links import make_link
from tests.collect.worker_pages.conftest import Site, end_worker, fake, site, store_worker
from tests.collect.worker_pages.fake_worker import silent

__all__ = ["fake", "site"]

pytestmark = pytest.mark.django_db(transaction=True)


def path_of(site: Site, worker: int | None = None, cluster: Cluster | None = None) -> str:
    return f"/clusters/{(cluster or site.world.live).pk}/workers/{worker or site.id}/pages/"


def test_members_get_a_sandboxed_frame_of_worker_pages_only(site: Site) -> None:
    for role in ("viewer", "editor", "owner", "superuser"):
        answer = site.world.client(role).get(path_of(site))
        assert answer.status_code == 200, role
        [frame] = re.findall(r"<iframe [^>]*>", answer.content.decode())
        assert 'sandbox="allow-scripts"' in frame
        assert re.search(r'src="/worker-pages/[\w-]{100,}/status"', frame)
        policy = answer.headers["Content-Security-Policy"]
        assert "frame-src http://testserver/worker-pages/ https://testserver/worker-pages/" in policy
        assert "script-src 'self';" in policy
    for role in ("outsider", "nobody"):
        assert site.world.client(role).get(path_of(site)).status_code == 404
    assert site.world.client("anonymous").get(path_of(site)).status_code == 302


def test_a_worker_of_another_cluster_is_not_found(site: Site) -> None:
    foreign = store_worker(site.world.elsewhere.pk, site.worker.port)
    assert site.world.client("viewer").get(path_of(site, foreign)).status_code == 404
    assert site.world.client("superuser").get(path_of(site, foreign)).status_code == 404
    assert site.worker.requests == []


def test_pages_that_are_off_say_so_and_request_nothing(site: Site, settings: Any) -> None:
    settings.WORKER_PAGES = []
    answer = site.world.client("viewer").get(path_of(site))
    assert answer.status_code == 404
    assert b"OBSERVATORY_WORKER_PAGES" in answer.content
    assert site.worker.requests == []


def test_an_ended_worker_leads_to_its_recorded_page(site: Site) -> None:
    end_worker(site.world.live.pk)
    answer = site.world.client("viewer").get(path_of(site))
    assert answer.status_code == 410
    assert b"This worker has ended" in answer.content
    assert re.search(
        rf'href="/clusters/{site.world.live.pk}/\?from=[^"]*worker={site.id}', answer.content.decode()
    )


def test_reasons_for_no_pages_are_told_apart_but_not_those_of_a_network(
    site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def text(worker: int | None = None) -> str:
        answer = site.world.client("viewer").get(path_of(site, worker))
        assert answer.status_code in (403, 404, 502)
        return str(answer.content.decode())

    del site.worker.answers["/status"]
    assert "--no-dashboard" in text()
    without = store_worker(site.world.live.pk, None, number=2)
    assert "no HTTP server" in text(without)
    refused = text(store_worker(site.world.live.pk, 1, number=3))
    monkeypatch.setattr(worker_client, "ANSWER_TIMEOUT", 0.5)
    site.worker.answers["/status"] = silent
    hanging = text()
    for page in (refused, hanging):
        assert worker_client.UNREACHABLE.replace("'", "&#x27;") in page
    settings.WORKER_PAGES = ["10.0.0.0/8"]
    assert "not in the networks of OBSERVATORY_WORKER_PAGES" in text()


def test_timelines_of_live_clusters_name_them_to_members_where_they_are_on(site: Site, settings: Any) -> None:
    world = site.world
    viewer = world.client("viewer")
    named = f'data-worker-pages="/clusters/{world.live.pk}/workers/"'.encode()
    token = make_link(
        Permalink(run=world.run, audience=Permalink.Audience.ANYONE), world.people["owner"]
    ).token
    assert named in viewer.get(f"/clusters/{world.live.pk}/").content
    assert named in viewer.get(f"/runs/{world.run.pk}/").content
    assert b"data-worker-pages" not in viewer.get(f"/r/{token}").content
    assert b"data-worker-pages" not in viewer.get(f"/clusters/{world.ended.pk}/").content
    settings.WORKER_PAGES = []
    assert b"data-worker-pages" not in viewer.get(f"/clusters/{world.live.pk}/").content
    world.live.ended = world.live.started + timedelta(hours=1)
    world.live.save()
