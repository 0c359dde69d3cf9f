"""Keeps CORES of the processor busy until its input ends: `python -m benchmarks.attacking.burner CORES`."""

from __future__ import annotations

import multiprocessing
import sys
import time

PERIOD = 0.05
"""seconds in which a process is busy for its share"""


def burn(share: float) -> None:
    """Return never."""
    while True:
        began = time.perf_counter()
        while time.perf_counter() - began < PERIOD * share:
            sum(range(1000))
        time.sleep(PERIOD * (1 - share))


def main() -> None:
    cores = float(sys.argv[1])
    shares = [1.0] * int(cores) + [cores % 1]
    processes = [multiprocessing.Process(target=burn, args=(share,), daemon=True) for share in shares]
    for process in processes:
        process.start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
