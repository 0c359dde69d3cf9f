"""A script that never closes its cluster: `python unclosed_script.py URL TOKEN NAME END`.

END says how it ends, with a run around its tasks unless that is "no-run". It prints "computed" when its tasks
are done, and "returned" with the milliseconds that the end of the run took.
"""

import os
import sys
import time

from distributed import Client, LocalCluster

import observatory
import observatory.agent

TASKS = 20


def step(number: int) -> int:
    time.sleep(0.02)
    return number


def compute(client: Client) -> None:
    client.gather(client.map(step, range(TASKS), pure=False))
    print("computed", flush=True)


def main() -> None:
    url, token, name, end = sys.argv[1:]
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=None, processes=end != "threads", protocol="tcp"
    )
    client = Client(cluster)
    observatory.agent.register(client, url=url, token=token, name=name)
    if end == "no-run":
        compute(client)
        return
    with observatory.run(name):
        compute(client)
        if end == "exception":
            raise RuntimeError("as planned")
        if end == "waits-in-run":
            time.sleep(600)
        computed = time.monotonic()
    print("returned", round(1000 * (time.monotonic() - computed), 1), flush=True)
    if end == "waits":
        time.sleep(600)
    if end == "_exit":
        os._exit(3)


if __name__ == "__main__":
    main()
