"""The relay of worker pages: who gets what of which worker, and what reaches either side."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Target
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.credentials.storage import seal
from observatory.collect.worker_pages import limits, tickets, worker_client
from observatory.collect.worker_pages.tickets import TicketError, make_ticket, read_ticket
from tests.collect.worker_pages.asgi import Relay
from tests.collect.worker_pages.conftest import Site, end_worker, store_worker
from tests.collect.worker_pages.fake_worker import endless, silent

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("close_connections")]


@pytest.fixture
def relay() -> Relay:
    return Relay()


async def test_a_member_gets_a_workers_page_with_our_headers_alone(site: Site, relay: Relay) -> None:
    site.worker.page(
        "/status",
        "<h1>of the worker</h1>",
        Set_Cookie="sessionid=stolen; Path=/",
        Access_Control_Allow_Origin="*",
        Content_Security_Policy="default-src *",
        Clear_Site_Data='"*"',
        Refresh="0; url=https://evil.example",
        Link="</x>; rel=preload",
    )
    ticket = site.ticket()
    answer = await relay.get(
        f"/worker-pages/{ticket}/status",
        cookie="sessionid=of-the-person",
        authorization="Bearer obp_secret",
        x_forwarded_user="viewer",
        referer=f"http://localhost/worker-pages/{ticket}/",
        accept_encoding="gzip",
    )
    assert (answer.status, answer.text) == (200, "<h1>of the worker</h1>")
    assert set(answer.headers) == {
        "content-type",
        "content-length",
        "content-security-policy",
        "x-content-type-options",
        "referrer-policy",
        "cache-control",
        "access-control-allow-origin",
    }
    policy = answer.headers["content-security-policy"].split("; ")
    assert policy[0] == "sandbox allow-scripts"
    assert "frame-ancestors 'self'" in policy
    assert answer.headers["access-control-allow-origin"] == "null"
    [request] = site.worker.requests
    assert set(request.headers) == {"Host", "User-Agent", "Accept-Encoding", "Accept"}
    assert request.headers["Host"] == f"127.0.0.1:{site.worker.port}"
    assert request.headers["Accept-Encoding"] == "identity"


async def test_only_pages_and_files_of_dask_are_requested_and_only_by_get(site: Site, relay: Relay) -> None:
    start = f"/worker-pages/{site.ticket()}"
    for path in (
        "metrics",
        "health",
        "",
        "static/../metrics",
        "static//x",
        "status/",
        "//evil.example/",
        "admin",
    ):
        assert (await relay.get(f"{start}/{path}")).status == 404, path
    for method in ("POST", "HEAD", "PUT", "OPTIONS"):
        assert (await relay.get(f"{start}/status", method)).status == 405
    assert site.worker.requests == []
    site.worker.page("/static/js/bokeh.min.js", "1", Content_Type="text/javascript")
    file = await relay.get(f"{start}/static/js/bokeh.min.js")
    assert (file.status, file.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert (await relay.get(f"{start}/system")).text == "The worker has no such page."


async def test_other_requests_are_the_sites(site: Site, relay: Relay) -> None:
    assert (await relay.get("/clusters/")).text == "the site"


async def test_a_ticket_is_of_a_session_that_sees_the_worker(site: Site, relay: Relay) -> None:
    async def status(ticket: str) -> int:
        return (await relay.get(f"/worker-pages/{ticket}/status")).status

    tickets_of = {role: site.ticket(role) for role in ("viewer", "owner", "superuser", "outsider", "nobody")}
    assert {role: await status(ticket) for role, ticket in tickets_of.items()} == {
        "viewer": 200,
        "owner": 200,
        "superuser": 200,
        "outsider": 404,
        "nobody": 404,
    }
    for forged in ("", "x", "é", tickets_of["viewer"][:-9] + "AAAAAAAA=", "A" * 5000):
        assert await status(forged) == 403
    await database_sync_to_async(Membership.objects.filter(user=site.world.people["viewer"]).delete)()
    assert await status(tickets_of["viewer"]) == 404
    await database_sync_to_async(site.world.client("owner").logout)()
    assert await status(tickets_of["owner"]) == 403
    await database_sync_to_async(User.objects.filter(username="superuser").update)(is_active=False)
    assert await status(tickets_of["superuser"]) == 403


async def test_a_changed_password_ends_tickets(site: Site, relay: Relay) -> None:
    ticket = site.ticket()

    def change() -> None:
        site.world.people["viewer"].set_password("another one")
        site.world.people["viewer"].save()

    await database_sync_to_async(change)()
    assert (await relay.get(f"/worker-pages/{ticket}/status")).status == 403


async def test_a_ticket_expires(site: Site, relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = site.ticket()
    later = time.time() + tickets.LIFETIME + 1
    monkeypatch.setattr(tickets.time, "time", lambda: later)
    answer = await relay.get(f"/worker-pages/{ticket}/status")
    assert answer.status == 403
    assert "reload" in answer.text
    assert site.worker.requests == []


def test_a_ticket_shows_nothing_of_the_session_and_is_of_the_secret_key(settings: Any) -> None:
    ticket = make_ticket("the-session-key", 1, 2, 0)
    assert read_ticket(ticket).session == "the-session-key"
    assert "the-session-key" not in ticket
    settings.SECRET_KEY = "another" * 10
    with pytest.raises(TicketError):
        read_ticket(ticket)


async def test_a_worker_of_another_cluster_or_none_is_not_found(site: Site, relay: Relay) -> None:
    foreign = await database_sync_to_async(store_worker)(site.world.elsewhere.pk, site.worker.port)
    for worker, cluster in ((foreign, None), (foreign, site.world.elsewhere.pk), (999_999, None)):
        ticket = site.ticket("viewer", worker, cluster)
        assert (await relay.get(f"/worker-pages/{ticket}/status")).status == 404
    assert site.worker.requests == []


async def test_an_ended_worker_and_one_of_an_ended_cluster_have_no_pages(site: Site, relay: Relay) -> None:
    ticket = site.ticket()
    live = site.world.live
    live.ended = live.last_seen
    await database_sync_to_async(live.save)()
    assert (await relay.get(f"/worker-pages/{ticket}/status")).status == 410
    live.ended = None
    await database_sync_to_async(live.save)()
    assert (await relay.get(f"/worker-pages/{ticket}/status")).status == 200
    await database_sync_to_async(end_worker)(live.pk)
    answer = await relay.get(f"/worker-pages/{ticket}/status")
    assert (answer.status, answer.text) == (410, "The worker has ended, and its own pages ended with it.")
    assert len(site.worker.requests) == 1


@pytest.mark.parametrize(
    ("host", "networks", "target"),
    [
        ("127.0.0.1", ["10.0.0.0/8"], "http://127.0.0.1:8787"),
        ("localhost", ["10.0.0.0/8"], "http://localhost:8787"),
        ("127.0.0.1", ["0.0.0.0/0"], "http://10.1.2.3:8787"),
        ("localhost", ["0.0.0.0/0"], "http://10.1.2.3:8787"),
        ("169.254.169.254", ["0.0.0.0/0"], "http://127.0.0.1:8787"),
        ("100.100.100.200", ["0.0.0.0/0"], "http://127.0.0.1:8787"),
        ("::ffff:127.0.0.1", ["0.0.0.0/0"], "http://10.1.2.3:8787"),
        ("127.0.0.1/@evil", ["0.0.0.0/0"], "http://127.0.0.1:8787"),
    ],
)
async def test_an_address_outside_of_what_may_be_requested_is_refused(
    site: Site, relay: Relay, settings: Any, host: str, networks: list[str], target: str
) -> None:
    settings.WORKER_PAGES = networks
    site.world.target.url = target
    await database_sync_to_async(site.world.target.save)()
    named = await database_sync_to_async(store_worker)(site.world.live.pk, site.worker.port, host, 2)
    ticket = site.ticket("viewer", named)
    answer = await relay.get(f"/worker-pages/{ticket}/status")
    assert answer.status in (403, 502), answer.text
    assert site.worker.requests == []


async def test_a_worker_that_an_agent_names_may_not_be_this_machine(site: Site, relay: Relay) -> None:
    await database_sync_to_async(site.world.target.delete)()
    answer = await relay.get(f"/worker-pages/{site.ticket()}/status")
    assert answer.status == 403
    assert site.worker.requests == []


@pytest.mark.parametrize("way", [Target.Workers.DIRECT, Target.Workers.HTTP, Target.Workers.CREDENTIALS])
async def test_the_targets_credentials_are_sent_where_workers_get_them(
    site: Site, relay: Relay, way: Target.Workers
) -> None:
    site.world.target.workers = way
    site.world.target.secret = seal(Credentials(token="of-the-target"))
    await database_sync_to_async(site.world.target.save)()
    assert (await relay.get(f"/worker-pages/{site.ticket()}/status")).status == 200
    [request] = site.worker.requests
    expected = "Bearer of-the-target" if way == Target.Workers.CREDENTIALS else None
    assert request.headers.get("Authorization") == expected


async def test_through_the_schedulers_proxy_the_scheduler_is_requested(site: Site, relay: Relay) -> None:
    site.world.target.workers = Target.Workers.PROXY
    site.world.target.url = f"http://127.0.0.1:{site.worker.port}"
    await database_sync_to_async(site.world.target.save)()
    named = await database_sync_to_async(store_worker)(site.world.live.pk, 40123, "10.9.9.9", 2)
    site.worker.page("/proxy/40123/10.9.9.9/status", "by the scheduler")
    ticket = site.ticket("viewer", named)
    assert (await relay.get(f"/worker-pages/{ticket}/status")).text == "by the scheduler"


async def test_redirects_stay_on_the_worker(site: Site, relay: Relay) -> None:
    start = f"/worker-pages/{site.ticket()}"
    own = f"http://127.0.0.1:{site.worker.port}"
    for path, location, leads in (
        ("status", "/system", "system"),
        ("status", f"{own}/profile?x=1", "profile"),
        ("static/js/a.js", "b.js", "../../static/js/b.js"),
    ):
        site.worker.page(f"/{path}", "", status=302, Location=location)
        answer = await relay.get(f"{start}/{path}")
        assert (answer.status, answer.headers.get("location")) == (302, leads)
    for location in (
        "https://evil.example/status",
        "//evil.example/status",
        "/metrics",
        "javascript:alert(1)",
        "",
    ):
        site.worker.page("/status", "", status=302, Location=location)
        answer = await relay.get(f"{start}/status")
        assert answer.status == 502
        assert "location" not in answer.headers


@pytest.mark.parametrize("status", [201, 206, 401, 500])
async def test_no_other_status_is_passed_on(site: Site, relay: Relay, status: int) -> None:
    site.worker.page("/status", "<script>", status=status, WWW_Authenticate="Basic")
    answer = await relay.get(f"/worker-pages/{site.ticket()}/status")
    assert (answer.status, answer.headers["content-type"]) == (502, "text/plain; charset=utf-8")
    assert "script" not in answer.text


async def test_an_odd_content_type_is_only_bytes(site: Site, relay: Relay) -> None:
    site.worker.page("/status", "x", Content_Type="text/html; boundary=\x22a")
    answer = await relay.get(f"/worker-pages/{site.ticket()}/status")
    assert answer.headers["content-type"] == "application/octet-stream"


async def test_endless_long_silent_and_compressed_answers_are_refused(
    site: Site, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_client, "ANSWER_LIMIT", 2**20)
    site.worker.answers["/status"] = endless
    start = f"/worker-pages/{site.ticket()}"
    answer = await relay.get(f"{start}/status")
    assert answer.status == 502
    assert "longer than" in answer.text
    site.worker.page("/system", "x" * (2**20 + 1))
    assert "longer than" in (await relay.get(f"{start}/system")).text
    site.worker.page("/system", "x", Content_Encoding="gzip")
    assert "compressed" in (await relay.get(f"{start}/system")).text
    monkeypatch.setattr(worker_client, "ANSWER_TIMEOUT", 0.5)
    site.worker.answers["/profile"] = silent
    assert "does not answer" in (await relay.get(f"{start}/profile")).text


async def test_a_person_waits_for_the_requests_of_their_own(
    site: Site, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = most = 0

    async def counted(_: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return await site.worker.answers["/system"](_)

    site.worker.page("/system", "x")
    site.worker.answers["/status"] = counted
    monkeypatch.setattr(limits, "WAITING_OF_USER", 20)
    path = f"/worker-pages/{site.ticket()}/status"
    answers = await asyncio.gather(*(relay.get(path) for _ in range(40)))
    assert most <= limits.REQUESTS_OF_USER
    statuses = [answer.status for answer in answers]
    assert statuses.count(200) >= 20
    assert set(statuses) <= {200, 503}
    assert relay.limits._requests.total() == 0


@pytest.mark.parametrize(
    ("site_of", "mode", "dest", "passes"),
    [
        ("same-origin", "navigate", "iframe", True),
        ("cross-site", "navigate", "iframe", True),
        ("cross-site", "no-cors", "script", True),
        ("cross-site", "cors", "font", True),
        ("none", "navigate", "document", False),
        ("same-origin", "navigate", "document", False),
        ("same-origin", "no-cors", "script", False),
        ("same-origin", "same-origin", "serviceworker", False),
        ("same-origin", "cors", "empty", False),
        ("same-origin", "no-cors", "style", False),
    ],
)
async def test_our_own_pages_can_load_nothing_of_a_worker_but_the_frame(
    site: Site, relay: Relay, site_of: str, mode: str, dest: str, passes: bool
) -> None:
    fetched = {"sec_fetch_site": site_of, "sec_fetch_mode": mode, "sec_fetch_dest": dest}
    answer = await relay.get(f"/worker-pages/{site.ticket()}/status", **fetched)
    assert answer.status == (200 if passes else 403)


async def test_another_host_name_is_refused(site: Site, relay: Relay) -> None:
    path = f"/worker-pages/{site.ticket()}/status"
    for host in ("evil.example", "", "localhost\r\nx", "localhost;"):
        assert (await relay.get(path, host=host)).status == 400
