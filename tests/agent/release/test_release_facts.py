"""What is recorded of a release has no secrets and is bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from observatory.agent.release.configuration_file import Release
from observatory.agent.release.release_facts import MOST_CHARACTERS, record_of, release_of_process

TOKEN = "obs_the-token-of-the-agent"


def record(section: str = "worker", name: str = "a", **parts: dict[str, Any]) -> dict[str, Any]:
    sections = {each: parts.get(each, {}) for each in ("scheduler", "worker", "client")}
    release = Release(name, parts.get("environment", {}), sections)
    found: dict[str, Any] = json.loads(record_of(release, section, {"OBSERVATORY_TOKEN": TOKEN}))
    return found


def test_a_process_records_its_own_section_and_the_environment() -> None:
    found = record(
        environment={"OMP_NUM_THREADS": "1"},
        worker={"distributed": {"worker": {"memory": {"target": 0.6, "spill": False}, "preload": ["a"]}}},
        client={"temporary-directory": "/tmp"},
    )
    assert found["values"] == {
        "environment: OMP_NUM_THREADS": "1",
        "worker: distributed.worker.memory.target": "0.6",
        "worker: distributed.worker.memory.spill": "false",
        "worker: distributed.worker.preload": '["a"]',
    }


@pytest.mark.parametrize(
    "name",
    ["AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "observatory-token", "apiKey", "credentials", "passphrase"],
)
def test_values_whose_names_look_secret_are_masked(name: str) -> None:
    assert record(environment={name: "hunter2222"})["values"] == {f"environment: {name}": "***"}


def test_a_mapping_below_a_name_that_looks_secret_is_masked_as_a_whole() -> None:
    assert record(worker={"my": {"secrets": {"a": "hunter2222"}}})["values"] == {"worker: my.secrets": "***"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("postgres://me:hunter2222@db/x", "postgres://***@db/x"),
        ("https://example.org/?api_token=hunter2222&a=1", "https://example.org/?api_token=***&a=1"),
        ("host=db password=hunter2222 user=me", "host=db password=*** user=me"),
        ("Authorization: Bearer hunter2222", "Authorization: Bearer ***"),
        ("-----BEGIN PRIVATE KEY-----\nhunter2222", "***"),
        (f"--with {TOKEN}", "--with ***"),
    ],
)
def test_secrets_within_texts_are_masked(value: str, shown: str) -> None:
    assert record(environment={"A": value})["values"] == {"environment: A": shown}


def test_a_secret_of_the_file_is_masked_wherever_else_it_is() -> None:
    found = record("scheduler", environment={"A": "x hunter2222"}, worker={"password": "hunter2222"})
    assert found["values"] == {"environment: A": "x ***"}


def test_tokenize_of_dask_is_no_secret() -> None:
    found = record(worker={"tokenize": {"ensure-deterministic": True}})
    assert found["values"] == {"worker: tokenize.ensure-deterministic": "true"}


def test_the_digest_changes_with_any_section_but_tells_nothing_of_secrets_or_the_name() -> None:
    one = record(scheduler={"a": 1}, environment={"PASSWORD": "first-secret"})
    assert record(scheduler={"a": 2}, environment={"PASSWORD": "first-secret"})["digest"] != one["digest"]
    assert record(scheduler={"a": 1}, environment={"PASSWORD": "other-secret"})["digest"] == one["digest"]
    assert record(name="b", scheduler={"a": 1}, environment={"PASSWORD": "x"})["digest"] == one["digest"]


def test_the_digest_is_the_same_in_processes_with_and_without_the_token_of_the_agent() -> None:
    release = Release("a", {"A": TOKEN}, {"scheduler": {}, "worker": {}, "client": {}})
    with_token, without = (
        json.loads(record_of(release, "worker", environ)) for environ in ({"OBSERVATORY_TOKEN": TOKEN}, {})
    )
    assert with_token["digest"] == without["digest"]
    assert with_token["values"] == {"environment: A": "***"}


def test_a_large_record_is_cut_and_says_so() -> None:
    found = record(worker={f"a{number}": "ä" * 2000 for number in range(100)})
    assert len(json.dumps(found)) < MOST_CHARACTERS + 1000
    assert int(found["values"]["values left out"]) > 50
    assert max(map(len, found["values"].values())) == 300


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}', '{"name": "a", "digest": "b", "values": []}'])
def test_a_variable_that_is_no_record_is_no_release(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("OBSERVATORY_RELEASE", text)
    assert release_of_process() == {}
