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
