from __future__ import annotations

import os
import subprocess
import sys

from observatory.base.memory import ALLOCATOR

GROWTH = """
import gc
from observatory.base.memory import prepare_for_hours
kept = [[] for _ in range({startup})]
if {prepared}:
    prepare_for_hours()
else:
    gc.collect()
before = gc.get_stats()[2]["collections"]
for _ in range(200_000):
    kept.append([])
print(gc.get_stats()[2]["collections"] - before)
"""
ANSWER = """
import gc, psutil
from observatory.base.memory import prepare_for_hours
if {prepared}:
    prepare_for_hours()
before = psutil.Process().memory_info().rss
answer = [bytes(2_000) for _ in range(50_000)]
kept = answer[::50]
del answer
gc.collect()
print(psutil.Process().memory_info().rss - before)
"""
SURVIVORS = """
import gc, weakref
from observatory.base import memory
memory.THAW = {thaw}
memory.exempt_survivors()
class Kept: pass
kept = Kept()
kept.itself, kept.others = kept, [[] for _ in range(100_000)]
gc.collect()
frozen, ended = gc.get_freeze_count(), weakref.ref(kept)
del kept
gc.collect()
print(frozen if {counted} else int(ended() is None))
"""


def printed(code: str, **options: object) -> int:
    environment = {**os.environ, **ALLOCATOR}
    return int(
        subprocess.check_output([sys.executable, "-c", code.format(**options)], text=True, env=environment)
    )


def test_full_collections_do_not_wait_for_a_share_of_what_a_process_began_with() -> None:
    def collections(prepared: bool) -> int:
        return printed(GROWTH, startup=1_000_000, prepared=prepared)

    assert collections(prepared=True) > collections(prepared=False)


def test_memory_between_what_a_process_keeps_returns_to_the_system() -> None:
    assert printed(ANSWER, prepared=True) * 5 < printed(ANSWER, prepared=False)


def test_what_outlived_a_full_collection_is_exempt_from_the_next_ones_until_some_time_has_passed() -> None:
    assert printed(SURVIVORS, thaw=900, counted=True) > 100_000
    assert printed(SURVIVORS, thaw=900, counted=False) == 0
    assert printed(SURVIVORS, thaw=0, counted=False) == 1
