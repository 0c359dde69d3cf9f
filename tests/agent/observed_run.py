"""A run for an agent to watch: `python observed_run.py SCHEDULER_FILE [URL TOKEN]`.

Prints as JSON what a recorder of its own saw on the scheduler. With a URL it registers the agent first.
"""

import json
import logging
import os
import sys
import time

from distributed import Client, SchedulerPlugin, get_worker, wait

import observatory.agent


class Recorder(SchedulerPlugin):
    name = "recorder"

    def __init__(self):
        self.transitions = []
        self.spans = []

    def transition(self, key, start, finish, *args, stimulus_id="", **kwargs):
        self.transitions.append((str(key), start, finish, stimulus_id))
        for timed in kwargs.get("startstops") or ():
            self.spans.append((str(key), timed["action"], timed["start"], timed["stop"]))


def recorded(dask_scheduler):
    recorder = dask_scheduler.plugins["recorder"]
    return {"transitions": recorder.transitions, "spans": recorder.spans}


def increment(number):
    return number + 1


def fail_for_sure(number):
    raise ValueError(f"no {number}")


def be_busy(seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        sum(range(1000))


def make(size):
    return b"x" * size


def warn(number):
    logging.getLogger("distributed.worker").warning("warning %d of the run", number)
    return get_worker().address


def die():
    os._exit(3)


def work(client):
    addresses = sorted(client.scheduler_info()["workers"])
    first, second = addresses[:2]
    keep = [client.map(increment, range(100), pure=False)]
    keep.append(client.map(fail_for_sure, range(3), pure=False, retries=1))
    made = client.submit(make, 3_000_000, workers=[first])
    keep.append(client.submit(len, made, workers=[second]))
    keep.append(client.map(warn, range(5), pure=False))
    keep.append(client.submit(be_busy, 2.5))
    for futures in keep:
        wait(futures)
    client.run_on_scheduler(be_busy, 2.2)  # in the event loop, which Dask looks at once a second
    client.run(be_busy, 2.2)
    keep.clear()  # a result that dies with its worker would be computed again
    del made, futures
    client.log_event("the-run", {"said": "something"})
    dying = client.submit(die, workers=[first], allow_other_workers=False, retries=0)
    deadline = time.monotonic() + 180
    while not _restarted(client, first) and time.monotonic() < deadline:
        time.sleep(0.1)
    del dying
    time.sleep(3)


def _restarted(client, address):
    """Whether a nanny has started another worker in place of the one at `address`."""
    workers = client.run_on_scheduler(_addresses)
    return address not in workers and len(workers) == 2


def _addresses(dask_scheduler):
    return list(dask_scheduler.workers)


def main():
    scheduler_file, *target = sys.argv[1:]
    client = Client(scheduler_file=scheduler_file, timeout=180)
    client.wait_for_workers(2, timeout=180)
    if target:
        observatory.agent.register(client, url=target[0], token=target[1], name="registered")
    register = getattr(client, "register_plugin", None) or client.register_scheduler_plugin
    register(Recorder())
    with observatory.run("the whole of it", tags={"kind": "test"}):
        work(client)
    print(json.dumps(client.run_on_scheduler(recorded)))
    client.shutdown()


if __name__ == "__main__":
    main()
