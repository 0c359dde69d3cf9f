"""Texts of a cluster without its addresses, hosts and process ids, and with everything else."""

from __future__ import annotations

import json

import pytest

from observatory.replay.pseudonyms import Pseudonyms, make_pseudonyms
from observatory.store.queries.timeline import WorkerAddresses

GPU = WorkerAddresses("gpu-1", "tcp://10.0.0.3:4000", "node17.cluster.local", "tcp://10.0.0.3:4999", "48213")
UNNAMED = WorkerAddresses("", "tcp://[fd00::17]:4001", "", "", "")
NUMBERED = WorkerAddresses("0", "tls://10.0.0.4:4002", "10.0.0.4", "", "12")


@pytest.fixture
def pseudonyms() -> Pseudonyms:
    return make_pseudonyms((GPU, UNNAMED, NUMBERED), "tcp://10.0.0.1:8786")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at tcp://10.0.0.3:4000.", "at worker 1."),
        ("from 10.0.0.3:4000 to tcp://[fd00::17]:4001", "from worker 1 to worker 2"),
        ("tcp://10.0.0.3:4999 and tcp://10.0.0.1:8786", "nanny of worker 1 and scheduler"),
        ("tls://elsewhere:99/path, 10.9.8.7:80", "(address), (address)"),
        ("https://user:password@10.9.8.7/x", "(address)"),
        ("inproc://10.9.8.7/48213/1", "(address)"),
        ("fe80::1ff:fe23:4567 refused", "(address) refused"),
        ("ip-10-9-8-7.ec2.internal:9", "(address)"),
        ("node17:4000 and node17.cluster.local:80", "host 0 and host 0"),
        ("gpu-1 on NODE17, node17.cluster.local", "worker 1 on host 0, host 0"),
        ("/scratch/node17/pod-node17-a", "/scratch/host 0/pod-host 0-a"),
        ("worker-10.0.0.4-4002", "worker-host 2-4002"),
        ("Worker process 37 was killed", "Worker process (process id) was killed"),
        ("<Process pid=37 parent=5>, {'nanny_pid': 37}", None),
        ("[48213] started", "[(process id)] started"),
    ],
)
def test_what_is_hidden_is_replaced_in_texts(pseudonyms: Pseudonyms, text: str, shown: str | None) -> None:
    if shown is None:
        shown = text.replace("37", "(process id)").replace("5", "(process id)")
    assert pseudonyms.text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "12:03:41 a[::2] b[1::2] 00:1a:2b:3c:4d:5e",
        "distributed 2026.8.0, ('sum-0a1b', 0, 12)",
        "process: 0.12 s, 12 tasks, line:12, s3://bucket/key, C::method",
        "worker 0 of host 1: (address) (process id) gpu-10 snode17",
        "",
    ],
)
def test_everything_else_stays(pseudonyms: Pseudonyms, text: str) -> None:
    assert pseudonyms.text(text) == text
    assert pseudonyms.text(pseudonyms.text(text)) == text


def test_workers_are_numbered_and_lifetimes_of_one_name_share_the_number() -> None:
    again = WorkerAddresses("gpu-1", "tcp://10.0.0.3:5000", "node17.cluster.local", "", "")
    pseudonyms = make_pseudonyms((GPU, again, NUMBERED), "")
    assert pseudonyms.workers == {
        "gpu-1": "worker 1",
        "tcp://10.0.0.3:4000": "worker 1",
        "tcp://10.0.0.3:5000": "worker 1",
        "0": "worker 0",
        "tls://10.0.0.4:4002": "worker 0",
    }
    assert pseudonyms.hosts == {"node17.cluster.local": "host 0", "10.0.0.4": "host 1"}


def test_a_slot_is_called_as_the_worker_or_as_its_nanny(pseudonyms: Pseudonyms) -> None:
    usual = {"name": "", "address": "tcp://10.0.0.3:4000", "host": "", "end_reason": ""}
    slots = ["gpu-1", "0", "tcp://[fd00::17]:4001", "tcp://10.0.0.3:4999", "tcp://10.9.8.7:80"]
    shown = [pseudonyms.item({**usual, "slot": slot})["slot"] for slot in slots]
    assert shown == ["worker 1", "worker 0", "worker 2", "nanny of worker 1", "(address)"]


def test_json_stays_json_and_process_ids_become_null(pseudonyms: Pseudonyms) -> None:
    detail = {
        "message": 'on "node17"\n\\tcp://10.0.0.3:4000',
        "workers": {"tcp://10.0.0.3:4000": [1, {"pid": 37, "nanny_pid": "38", "rapid": 39, "PID": -1.5e-7}]},
    }
    assert json.loads(pseudonyms.json(json.dumps(detail))) == {
        "message": 'on "host 0"\n\\worker 1',
        "workers": {"worker 1": [1, {"pid": None, "nanny_pid": None, "rapid": 39, "PID": None}]},
    }
