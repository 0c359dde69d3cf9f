"""Unsent batches are kept on disk, for this agent or the next one."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from observatory.agent.delivery.spool import Spool, abandoned_spools, owner_of
from observatory.wire.kind import Importance
from tests.agent.batches import START, head, sized

SAMPLES, TASKS, FAILURES = sorted(Importance)
OWNER = owner_of("http://observatory", "token")


def opened(folder: Path, limit: int = 10**6) -> Spool:
    spool = Spool(folder / "agent", limit, OWNER)
    assert spool.open()
    return spool


def files(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("agent/0*"))


def test_batches_are_read_back_unchanged_and_in_order(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    batches = [sized(number, {SAMPLES: 100, FAILURES: 50}) for number in (1, 2, 3)]
    for batch in batches:
        spool.add(batch)
    spool.close()
    spool = opened(tmp_path)
    found = []
    while (batch := spool.first()) is not None:
        found.append(batch)
        spool.remove(batch.sequence)
    assert [batch.sequence for batch in found] == [1, 2, 3]
    assert [batch.parts for batch in found] == [batch.parts for batch in batches]
    assert [batch.head for batch in found] == [head(number) for number in (1, 2, 3)]
    assert all(batch.dropped == [] for batch in found)


def test_only_this_user_can_read_it_and_it_doesnt_hold_the_token(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool" / "agent", 10**6, owner_of("http://observatory", "s3cret-token"))
    spool.add(sized(1, {TASKS: 10}))
    for folder in (spool.folder, spool.folder.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in spool.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b"s3cret-token" not in path.read_bytes()


@pytest.mark.root
def test_a_spool_in_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a folder somebody else's")
    os.chown(tmp_path, 12345, 12345)
    with pytest.raises(PermissionError, match="belongs to another user"):
        Spool(tmp_path / "agent", 10**6, OWNER).open()


def test_an_empty_spool_is_deleted(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    spool.add(sized(1, {TASKS: 10}))
    spool.remove(1)
    spool.close()
    assert not (tmp_path / "agent").exists()


def test_over_the_limit_samples_are_dropped_first_then_tasks_and_the_oldest_of_each(tmp_path: Path) -> None:
    spool = opened(tmp_path, limit=10_000)
    for number in range(1, 9):
        spool.add(sized(number, {SAMPLES: 1000, TASKS: 1000, FAILURES: 1000}))
    kept = {importance: [] for importance in Importance}
    for number in range(1, 9):
        for importance in Importance:
            if (tmp_path / f"agent/{number:012d}.{importance.name}").exists():
                kept[importance].append(number)
    assert kept[FAILURES][-1] == 8
    assert not kept[SAMPLES]
    assert not kept[TASKS]
    assert kept[FAILURES] == list(range(9 - len(kept[FAILURES]), 9))
    assert len(kept[FAILURES]) >= 5
    assert files(tmp_path) <= 10_000


def test_dropped_records_are_reported_by_kind_with_their_times(tmp_path: Path) -> None:
    spool = opened(tmp_path, limit=4000)
    spool.add(sized(1, {SAMPLES: 2000, TASKS: 1000}))
    spool.add(sized(2, {TASKS: 1000}))
    first = spool.first()
    assert first is not None
    assert list(first.parts) == [TASKS]
    assert first.dropped == [(START + 1, START + 2, "sample", 10, "spool-full")]


def test_the_newest_batch_reports_batches_with_no_part_left(tmp_path: Path) -> None:
    spool = opened(tmp_path, limit=3000)
    for number in range(1, 101):
        spool.add(sized(number, {SAMPLES: 1500}))
    assert len(spool) <= 3
    assert len(list(tmp_path.glob("agent/0*"))) <= 6
    reported = 0
    while (batch := spool.first()) is not None:
        reported += sum(row[3] for row in batch.dropped) + 10 * len(batch.parts)
        assert len(batch.dropped) <= 1
        spool.remove(batch.sequence)
    assert reported == 1000


def test_batches_that_are_too_large_for_the_spool_leave_one_head(tmp_path: Path) -> None:
    spool = opened(tmp_path, limit=1000)
    for number in range(1, 51):
        spool.add(sized(number, {SAMPLES: 1500}))
    assert len(list(tmp_path.glob("agent/0*"))) == len(spool) == 1
    reported = spool.first()
    assert reported is not None
    assert reported.dropped == [(START + 1, START + 51, "sample", 500, "spool-full")]


def test_the_batch_that_is_being_sent_stays_whole(tmp_path: Path) -> None:
    spool = opened(tmp_path, limit=3000)
    spool.add(sized(1, {SAMPLES: 1000}))
    for number in range(2, 20):
        spool.add(sized(number, {SAMPLES: 1500}), sending=1)
    first = spool.first()
    assert first is not None
    assert first.sequence == 1
    assert list(first.parts) == [SAMPLES]


@pytest.mark.parametrize("damage", ["truncated", "changed"])
def test_a_damaged_part_is_reported_as_damaged_and_the_others_are_kept(tmp_path: Path, damage: str) -> None:
    spool = opened(tmp_path)
    spool.add(sized(1, {SAMPLES: 100, FAILURES: 50}))
    path = tmp_path / "agent/000000000001.SAMPLES"
    path.write_bytes(path.read_bytes()[:50] if damage == "truncated" else b"x" * 100)
    first = spool.first()
    assert first is not None
    assert list(first.parts) == [FAILURES]
    assert first.dropped == [(START + 1, START + 2, "sample", 10, "damaged")]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"head": {}, "parts": {}, "dropped": []}']
)
def test_a_damaged_head_is_skipped_counted_and_logged_once(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    spool = opened(tmp_path)
    for number in (1, 2, 3):
        spool.add(sized(number, {SAMPLES: 100}))
    for number in (1, 2):
        (tmp_path / f"agent/{number:012d}.head").write_bytes(content)
    first = spool.first()
    assert first is not None
    assert first.sequence == 3
    assert spool.damaged == 2
    assert len(caplog.messages) == 1
    assert not list(tmp_path.glob("agent/000000000001.*"))


def test_a_batch_that_cannot_be_written_leaves_no_files(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    (tmp_path / "agent/000000000001.FAILURES").mkdir()
    with pytest.raises(OSError, match="FAILURES"):
        spool.add(sized(1, {SAMPLES: 100, FAILURES: 50}))
    assert len(spool) == 0
    assert spool.size == 0
    assert not list(tmp_path.glob("agent/*.SAMPLES"))


def test_folders_in_use_of_other_servers_and_of_other_projects_are_left_alone(tmp_path: Path) -> None:
    owners = {
        "gone": OWNER,
        "held": OWNER,
        "of-another-server": owner_of("http://elsewhere", "token"),
        "of-another-project": owner_of("http://observatory", "another token"),
    }
    held = []
    for name, owner in owners.items():
        spool = Spool(tmp_path / name, 10**6, owner)
        spool.add(sized(1, {TASKS: 10}))
        if name == "held":
            held.append(spool)
        else:
            spool.close()
    (tmp_path / "nonsense").mkdir()
    (tmp_path / "nonsense/owner.json").write_text("[")
    found = []
    for spool in abandoned_spools(tmp_path, OWNER["url"], OWNER["token"].__eq__):
        found.append(spool.folder.name)
        spool.close()
    assert found == ["gone"]


def test_the_oldest_folder_is_adopted_first(tmp_path: Path) -> None:
    for age, name in enumerate(("newest", "older", "oldest")):
        spool = Spool(tmp_path / name, 10**6, OWNER)
        spool.add(sized(1, {TASKS: 10}))
        spool.close()
        os.utime(tmp_path / name / "owner.json", (START - age, START - age))
    found = abandoned_spools(tmp_path, OWNER["url"], OWNER["token"].__eq__)
    assert [spool.folder.name for spool in found] == ["oldest", "older", "newest"]


def test_the_folder_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    script = f"""
import sys, time
from pathlib import Path
from observatory.agent.delivery.spool import Spool
spool = Spool(Path({str(tmp_path / "agent")!r}), 10**6, {json.dumps(OWNER)})
print(spool.open(), flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        assert not Spool(tmp_path / "agent", 10**6, OWNER).open()
        process.kill()
        process.wait()
    assert Spool(tmp_path / "agent", 10**6, OWNER).open()
