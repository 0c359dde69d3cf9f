from __future__ import annotations

import subprocess
import sys

GROWTH = """
import gc
from observatory.config.memory import freeze_startup
kept = [[] for _ in range({startup})]
if {frozen}:
    freeze_startup()
else:
    gc.collect()
before = gc.get_stats()[2]["collections"]
for _ in range(200_000):
    kept.append([])
print(gc.get_stats()[2]["collections"] - before)
"""


def full_collections(frozen: bool) -> int:
    code = GROWTH.format(startup=1_000_000, frozen=frozen)
    return int(subprocess.check_output([sys.executable, "-c", code], text=True))


def test_full_collections_do_not_wait_for_a_share_of_what_a_process_began_with() -> None:
    assert full_collections(frozen=True) > full_collections(frozen=False)
