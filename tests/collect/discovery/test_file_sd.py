"""Prometheus' file service discovery: files below the folder that a setting allows, and no others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from observatory.collect.discovery.kind import DiscoveryError
from observatory.collect.discovery.kinds.file_sd import DISCOVERY, FILE_LIMIT, read_files


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DISCOVERY_DIR = tmp_path / "sd"
    (tmp_path / "sd" / "team").mkdir(parents=True)
    return tmp_path / "sd"


def names(pattern: str) -> list[str]:
    return [found.name for found in read_files(pattern)]


def test_files_of_json_and_yaml_are_read(folder: Path) -> None:
    (folder / "a.json").write_text(json.dumps([{"targets": ["10.0.0.1:8787"], "labels": {"name": "a"}}]))
    (folder / "b.yml").write_text("- targets: ['10.0.0.2:8787']\n  labels: {name: b, shard: 7}\n")
    (folder / "team" / "c.yaml").write_text("- targets:\n  - 10.0.0.3:8787\n")
    assert names("*.json") == ["a"]
    assert names("*.yml") == ["b"]
    assert names("b.yml") == ["b"]
    assert [found.url for found in read_files("team/*.yaml")] == ["http://10.0.0.3:8787"]
    assert names("no-*.json") == []


def test_what_cannot_be_read_is_an_error_that_names_the_file(folder: Path) -> None:
    (folder / "empty.yaml").write_text("")
    (folder / "broken.json").write_text('[{"targets"')
    (folder / "broken.yml").write_text("- targets: [unclosed")
    (folder / "bomb.yml").write_text("a: &a [x, x]\nb: [*a, *a]\n")
    (folder / "outside.json").symlink_to("/etc/hostname")
    (folder / "large.json").write_bytes(b" " * (FILE_LIMIT + 1))
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    for pattern, reason in (
        ("empty.yaml", "not a list of target groups"),
        ("broken.json", "broken.json is not valid JSON: "),
        ("broken.yml", "broken.yml is not valid YML: "),
        ("bomb.yml", "aliases"),
        ("outside.json", "outside of OBSERVATORY_DISCOVERY_DIR"),
        ("large.json", "longer than 4 MiB"),
        ("folder.json", "is no file"),
        ("pipe.json", "is no file"),
        ("missing.json", "there is no file missing.json"),
        ("missing/*.json", "cannot be read: No such file"),
    ):
        with pytest.raises(DiscoveryError, match=reason):
            read_files(pattern)


def test_only_paths_below_the_folder_are_accepted(folder: Path) -> None:
    assert DISCOVERY.clean_address("team/*.json") == "team/*.json"
    assert DISCOVERY.clean_address(f"{folder}/team/*.json") == "team/*.json"
    for path, reason in (
        ("/etc/*.json", "Only files below"),
        ("../*.json", "without .."),
        ("*/a.json", "only in the name"),
        ("passwords.txt", "end in .json"),
    ):
        with pytest.raises(ValidationError, match=reason):
            DISCOVERY.clean_address(path)


def test_without_the_setting_it_is_refused(settings: Any) -> None:
    settings.DISCOVERY_DIR = None
    with pytest.raises(ValidationError, match="set OBSERVATORY_DISCOVERY_DIR"):
        DISCOVERY.clean_address("*.json")
    with pytest.raises(DiscoveryError, match="set OBSERVATORY_DISCOVERY_DIR"):
        read_files("*.json")
