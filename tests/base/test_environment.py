"""Where the folders are: of data, of the frontend, of discoveries; in a checkout, installed, under root."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from observatory.base import environment


@pytest.fixture(autouse=True)
def _without_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OBSERVATORY_DATA_DIR", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "CHECKOUT", None)


def test_a_checkout_has_its_data_folder() -> None:
    assert environment.CHECKOUT is not None
    assert environment.data_dir() == environment.CHECKOUT / ".observatory"


def test_an_installed_package_uses_the_users_data_folder(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment.data_dir() == tmp_path / ".local/share/dask-observatory"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert environment.data_dir() == tmp_path / "data/dask-observatory"


def test_root_uses_the_systems_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert environment.data_dir() == Path("/var/lib/dask-observatory")


def test_a_given_data_folder_wins(installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OBSERVATORY_DATA_DIR", str(tmp_path))
    assert environment.data_dir() == tmp_path


def test_the_frontend_is_in_the_checkout_or_in_the_package() -> None:
    assert (environment.frontend_dir() / "timeline").is_dir()


def test_the_frontend_of_an_installed_package_is_in_it(installed: None) -> None:
    assert environment.frontend_dir() == environment.PACKAGE_DIR / "frontend"


@pytest.mark.parametrize(
    "place",
    ["", "/srv/archive", "file:///srv/archive", "s3://bucket/folder?region=x", "gs://b", "abfss://c@d/e"],
)
def test_the_archive_is_none_a_folder_or_in_an_object_store(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBSERVATORY_ARCHIVE", place)
    assert environment.archive() == place


@pytest.mark.parametrize("place", ["archive", "~/archive", "ftp://host/x", "file://host/x", "/a://b"])
def test_another_archive_is_refused_without_its_password(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_ARCHIVE", place)
    with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_ARCHIVE is '"):
        environment.archive()
    monkeypatch.setenv("OBSERVATORY_ARCHIVE", "ftp://user:secret@host/x?key=secret")
    with pytest.raises(ImproperlyConfigured) as refusal:
        environment.archive()
    assert "secret" not in str(refusal.value)


def test_the_folder_of_discoveries_is_none_or_an_absolute_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.discovery_dir() is None
    monkeypatch.setenv("OBSERVATORY_DISCOVERY_DIR", "/srv/discovery")
    assert environment.discovery_dir() == Path("/srv/discovery")
    monkeypatch.setenv("OBSERVATORY_DISCOVERY_DIR", "discovery")
    with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_DISCOVERY_DIR is 'discovery'"):
        environment.discovery_dir()


def test_rows_leave_the_tables_only_where_a_setting_says_when(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "OBSERVATORY_ARCHIVE_REMOVES_ROWS_AFTER_DAYS"
    monkeypatch.delenv(name, raising=False)
    assert environment.archive_removes_rows_after() is None
    monkeypatch.setenv(name, "7")
    assert environment.archive_removes_rows_after() == timedelta(days=7)
    monkeypatch.setenv(name, "0")
    with pytest.raises(ImproperlyConfigured, match=f"{name} is '0': it must be a positive whole number"):
        environment.archive_removes_rows_after()


def test_scans_have_the_address_of_a_scheduler_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "OBSERVATORY_SCAN_SCHEDULER"
    monkeypatch.delenv(name, raising=False)
    assert environment.scan_scheduler() == ""
    for address in ("tcp://scans:8786", "tls://10.0.0.7:8786", "tcp://[::1]:8786"):
        monkeypatch.setenv(name, address)
        assert environment.scan_scheduler() == address
    for address in ("scans:8786", "http://scans:8787", "tcp://scans", "tcp://scans:8786/x"):
        monkeypatch.setenv(name, address)
        with pytest.raises(ImproperlyConfigured, match=f"{name} is '{address}'"):
            environment.scan_scheduler()


def test_the_address_of_traces_has_a_place_for_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.trace_url() == ""
    url = "https://jaeger.example.org/trace/{trace}"
    monkeypatch.setenv("OBSERVATORY_TRACE_URL", url)
    assert environment.trace_url() == url
    for wrong in (
        "https://jaeger.example.org/trace/",
        "javascript:alert({trace})",
        f"{url}/{{trace}}",
        f"{url}\x07x",
    ):
        monkeypatch.setenv("OBSERVATORY_TRACE_URL", wrong)
        with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_TRACE_URL is"):
            environment.trace_url()


@pytest.mark.parametrize(
    "written",
    ["https://hub.example.org", "http://127.0.0.1:8888", "https://*.example.org", "http://[::1]:8888"],
)
def test_origins_are_schemes_with_hosts(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("OBSERVATORY_FRAME_ANCESTORS", f"{written}, https://other.example.org:8443")
    assert environment.origins("OBSERVATORY_FRAME_ANCESTORS") == [written, "https://other.example.org:8443"]


@pytest.mark.parametrize(
    "written",
    [
        *(
            "*",
            "https://*",
            "https:",
            "hub.example.org",
            "https://hub.example.org/",
            "https://hub.example.org/lab",
        ),
        *(
            "https://a@b.org",
            "https://a.org;script-src *",
            "'self'",
            "ftp://a.org",
            "https://a.*.org",
            "https://",
        ),
    ],
)
def test_what_is_no_origin_stops_the_start(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("OBSERVATORY_FRAME_ANCESTORS", written)
    with pytest.raises(ImproperlyConfigured, match="OBSERVATORY_FRAME_ANCESTORS has"):
        environment.origins("OBSERVATORY_FRAME_ANCESTORS")


def test_a_quota_of_projects_is_a_number_of_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "OBSERVATORY_PROJECT_QUOTA_GIB"
    monkeypatch.delenv(name, raising=False)
    assert environment.project_quota_gib() is None
    monkeypatch.setenv(name, "2.5")
    assert environment.project_quota_gib() == 2.5
    for written in ("0", "-1", "nan", "inf", "much"):
        monkeypatch.setenv(name, written)
        with pytest.raises(ImproperlyConfigured, match=f"{name} is '{written}': it must be a number from"):
            environment.project_quota_gib()
