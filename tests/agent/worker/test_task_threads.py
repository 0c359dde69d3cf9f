"""What a worker reports of the threads of its tasks."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed.threadpoolexecutor import ThreadPoolExecutor, secede

from observatory.agent.worker.profiles.task_threads import TaskThreads, wait_of
from tests.agent.eventually import eventually


class Pool:
    """A worker's threads, as far as they are looked at."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(4)
        self.worker = SimpleNamespace(executors={"default": self.executor}, active_threads={})

    def run(self, task: Callable[[], Any]) -> None:
        """Returns once a thread has begun."""
        begun = threading.Event()

        def act() -> None:
            self.worker.active_threads[threading.get_ident()] = "key"
            begun.set()
            task()
            del self.worker.active_threads[threading.get_ident()]

        self.executor.submit(act)
        begun.wait()


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.executor.shutdown(wait=True)


def waits_of(pool: Pool) -> dict[str, int]:
    found: dict[str, int] = TaskThreads(pool.worker)(pool.worker)["waits"]
    return found


def test_a_thread_is_told_by_what_it_waits_in(pool: Pool) -> None:
    lock, released = threading.Lock(), threading.Event()
    lock.acquire()
    near, far = socket.socketpair()
    pool.run(lock.acquire)
    pool.run(lambda: near.recv(1))

    def sleep() -> None:
        while not released.is_set():
            time.sleep(1)

    pool.run(sleep)
    pool.executor.submit(released.wait)  # a thread without a task waits for nothing
    try:
        eventually(lambda: waits_of(pool) == {"lock": 1, "connection": 1, "sleep": 1})
    finally:
        lock.release()
        far.send(b"1")
        released.set()


def test_a_wait_that_has_ended_is_reported_as_none(pool: Pool) -> None:
    lock = threading.Lock()
    lock.acquire()
    pool.run(lock.acquire)
    threads = TaskThreads(pool.worker)
    eventually(lambda: threads(pool.worker)["waits"] == {"lock": 1})
    lock.release()
    eventually(lambda: threads(pool.worker)["waits"] == {"lock": 0})


def test_a_thread_that_wants_a_cpu_is_not_one_that_waits(pool: Pool) -> None:
    """However much of the CPU it gets: a loaded machine gives it less."""
    threads, stopped = TaskThreads(pool.worker), threading.Event()

    def compute() -> None:
        while not stopped.is_set():
            sum(range(1_000))

    pool.run(compute)
    threads(pool.worker)
    try:
        time.sleep(1)
        eventually(lambda: threads(pool.worker)["cpu"] > 50)
    finally:
        stopped.set()


def test_a_thread_that_waits_wants_no_cpu(pool: Pool) -> None:
    ended = threading.Event()
    pool.run(ended.wait)
    eventually(lambda: waits_of(pool) == {"lock": 1})
    threads = TaskThreads(pool.worker)
    time.sleep(1)
    try:
        assert threads(pool.worker)["cpu"] == 0
    finally:
        ended.set()


def test_the_thread_of_a_task_that_has_seceded_is_not_one_of_the_pool(pool: Pool) -> None:
    seceded, ended = threading.Event(), threading.Event()

    def act() -> None:
        secede(adjust=False)
        seceded.set()
        ended.wait()

    pool.run(act)
    seceded.wait()
    try:
        assert TaskThreads(pool.worker)(pool.worker).get("waits", {}) == {}
    finally:
        ended.set()


def test_without_statistics_of_the_kernel_nothing_is_reported(pool: Pool, tmp_path: Path) -> None:
    pool.run(lambda: time.sleep(0.1))
    assert TaskThreads(pool.worker, tmp_path)(pool.worker) == {}
    assert (
        TaskThreads(SimpleNamespace(executors={}, active_threads={}), tmp_path)(
            SimpleNamespace(executors={}, active_threads={})
        )
        == {}
    )


@pytest.mark.parametrize(
    ("function", "wait"),
    [
        ("futex_wait_queue_me", "lock"),
        ("futex_do_wait", "lock"),
        ("hrtimer_nanosleep\n", "sleep"),
        ("poll_schedule_timeout.constprop.0", "connection"),
        ("ep_poll", "connection"),
        ("sk_wait_data", "connection"),
        ("locks_lock_inode_wait", "file-lock"),
        ("rpc_wait_bit_killable", "file"),
        ("do_wait", "process"),
        ("something_of_a_later_kernel", "other"),
        ("0", ""),
        ("", ""),
    ],
)
def test_functions_of_the_kernel_are_told_apart(function: str, wait: str) -> None:
    assert wait_of(function) == wait
