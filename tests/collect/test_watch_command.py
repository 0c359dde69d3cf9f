"""`dask-observatory watch` adds a target or prints an error of one line."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from observatory.clusters.models import Project, Target
from tests.collect.dask_processes import free_port, scheduler

pytestmark = pytest.mark.django_db


def watch(*arguments: str) -> str:
    output = StringIO()
    call_command("watch", *arguments, stdout=output)
    return output.getvalue()


def test_a_schedulers_address_becomes_a_target_in_a_new_project() -> None:
    with scheduler() as dask:
        assert dask.url in watch(f"{dask.url}/status")
        target = Target.objects.get()
        assert (target.url, target.name) == (dask.url, f"127.0.0.1:{dask.http_port}")
        assert target.project.slug == "default"
        assert (target.enabled, target.identity_interval, target.metrics_interval) == (True, 1.0, 5.0)
        with pytest.raises(CommandError, match="already"):
            watch(dask.url, "--name", "again")


def test_a_name_and_a_project_can_be_given() -> None:
    Project.objects.create(name="First", slug="first")
    Project.objects.create(name="Second", slug="second")
    with scheduler() as dask:
        watch(dask.url, "--name", "mine", "--project", "second")
    assert Target.objects.get().name == "mine"
    assert Target.objects.get().project.slug == "second"


def test_an_address_without_a_scheduler_is_refused_in_one_line() -> None:
    with pytest.raises(CommandError, match="No Dask scheduler answers") as error:
        watch(f"http://127.0.0.1:{free_port()}")
    assert "\n" not in str(error.value)
    assert not Target.objects.exists()
    with pytest.raises(CommandError, match="no project"):
        watch("http://127.0.0.1:1", "--project", "nothing")
