"""A list of another machine cannot make the collector request this machine."""

from __future__ import annotations

import pytest

from observatory.clusters.models import Target
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.discovery.trust import may_be_this_machine
from tests.collect.discovery.lists import make_discovery, serving
from tests.collect.observer import eventually, watching


@pytest.mark.django_db
def test_people_and_lists_of_this_machine_may_name_it() -> None:
    assert may_be_this_machine(Target(url="http://localhost:8787"))
    for number, (kind, address, expected) in enumerate(
        (
            ("http_sd", "http://127.0.0.1:9090/", True),
            ("http_sd", "http://10.2.2.2/", False),
            ("file_sd", "*.json", True),
            ("kubernetes", "http://127.0.0.1:6443", False),
            ("gateway", "http://127.0.0.1:8000", True),
            ("of another version", "http://127.0.0.1:8000", False),
        )
    ):
        discovery = make_discovery(kind, address, name=str(number))
        assert may_be_this_machine(Target(discovery=discovery)) is expected, kind


async def test_a_name_that_stands_for_this_machine_is_not_requested(store: None) -> None:
    with serving(lambda path, query: {}) as here:
        discovery = await run_in_django_thread(make_discovery, "http_sd", "http://10.2.2.2/")
        fields = {"name": "found", "url": here.url.replace("127.0.0.1", "localhost"), "discovery": discovery}
        found = await run_in_django_thread(
            lambda: Target.objects.create(project=discovery.project, identity_interval=0.5, **fields)
        )
        async with watching(found) as watcher:

            async def has_failed_often() -> bool:
                return watcher.polls.failures >= 3

            await eventually(has_failed_often)
        assert here.requests == []
