"""Samples the stacks of a worker's task threads with their C, Cython and Rust frames, by py-spy.

py-spy is a program beside the worker: every ten seconds in which tasks run it takes samples for a second.
It stops the worker's threads for each sample, as it can't walk native stacks otherwise: samples are few.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from time import time
from typing import Any

from dask.utils import key_split

from observatory.agent.logs import storable
from observatory.agent.worker.profiles.dask_profiles import MAXIMUM_STACK, MAXIMUM_STACKS

PROGRAM = "py-spy"
SOURCE = "native"
PERIOD = 10.0
"""Seconds between two recordings."""
SECONDS = 1
RATE = 20
"""Samples a second."""
TICK = 0.05
DEADLINE = 30
"""Seconds after which the system ends a py-spy that hangs."""
NICENESS = 10
MOST_FAILURES = 3
"""Failed recordings in a row after which it gives up."""
MAXIMUM_FILE = 16 * 2**20
LAUNCH = (
    f"import os, signal, sys; os.nice({NICENESS}); signal.alarm({DEADLINE}); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""Limits itself, then becomes py-spy. The alarm also ends it when the worker, its parent, can't."""
THREAD = re.compile(r"Thread (\d+)\b")
DASK = ("distributed/worker.py", "distributed\\worker.py")
"""What calls the tasks. Dask's own profile leaves it and the frames around it out, too."""
PR_SET_PTRACER = 0x59616D61

_recording = threading.Lock()
"""One py-spy a process: a process has one tracer, and a cluster in this process has several workers."""


class NativeProfileError(Exception):
    """py-spy can't record; the message says why and what to do."""


class NativeProfiles:
    """Records in a thread of its own while it is started."""

    def __init__(
        self, worker: Any, append: Callable[[tuple[Any, ...]], None], refuse: Callable[[str], None]
    ) -> None:
        """`append` takes rows of kind `profile` by our clock; `refuse` is called once, with the reason."""
        self.worker = worker
        self.append = append
        self.refuse = refuse
        self.failures = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observatory-native-profile", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends py-spy, and waits for that."""
        self._stopping.set()
        self._thread.join(DEADLINE)

    def _run(self) -> None:
        program = find_program()
        if program is None:
            self.refuse("py-spy is not installed beside the worker: pip install py-spy")
            return
        _let_children_trace()
        self._stopping.wait(PERIOD * random.random())  # the workers of a machine not all at once
        while not self._stopping.wait(PERIOD):
            try:
                if self.worker.active_threads:
                    self._record(program)
                    self.failures = 0
            except PermissionError as error:
                self.refuse(str(error))
                return
            except Exception as error:  # never disturb the worker
                self.failures += 1
                if self.failures >= MOST_FAILURES:
                    self.refuse(f"py-spy failed {MOST_FAILURES} times: {str(error) or type(error).__name__}")
                    return

    def _record(self, program: str) -> None:
        with _recording, tempfile.TemporaryDirectory(dir=self.worker.local_directory) as folder:
            path, errors = Path(folder, "stacks.json"), Path(folder, "errors.txt")
            with errors.open("wb") as written:
                process = subprocess.Popen(
                    _command(program, path),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=written,
                    start_new_session=True,
                )
                prefixes = self._watch(process)
            if self._stopping.is_set():
                return
            if process.returncode:
                raise _error(errors.read_text(errors="replace"), process.returncode)
            if path.stat().st_size > MAXIMUM_FILE:
                raise NativeProfileError("its file is too large")
            content = json.loads(path.read_bytes())
        self._append_rows(content, prefixes)

    def _watch(self, process: subprocess.Popen[bytes]) -> dict[int, set[str]]:
        """The prefixes of the tasks that each thread, by the system's id, runs until py-spy ends."""
        found: dict[int, set[str]] = {}
        while True:
            ids = {thread.ident: thread.native_id for thread in threading.enumerate()}
            for thread, key in dict(self.worker.active_threads).items():
                if (native := ids.get(thread)) is not None:
                    found.setdefault(native, set()).add(key_split(key))
            try:
                process.wait(TICK)
                return found
            except subprocess.TimeoutExpired:
                if self._stopping.is_set():
                    # not SIGKILL: a tracer that is killed can leave what it traces stopped
                    process.send_signal(signal.SIGINT)

    def _append_rows(self, content: Mapping[str, Any], prefixes: Mapping[int, set[str]]) -> None:
        now = time()
        counts: Counter[tuple[str, str]] = Counter()
        for thread, stack in stacks(content):
            if thread in prefixes:
                counts[_only(prefixes[thread]), stack] += 1
        for (prefix, stack), count in counts.most_common(MAXIMUM_STACKS):
            self.append(
                (
                    now,
                    self.worker.address,
                    SOURCE,
                    storable(prefix, 500),
                    storable(stack, MAXIMUM_STACK),
                    count,
                )
            )


def find_program() -> str | None:
    """The path of py-spy: on the search path, or beside Python, as in an environment that isn't activated."""
    return shutil.which(PROGRAM) or shutil.which(PROGRAM, path=os.path.dirname(sys.executable))


def stacks(content: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """(the system's id of the thread, stack) of each sample of a task, in a speedscope file of py-spy."""
    frames = content["shared"]["frames"]
    for profile in content["profiles"]:
        if (thread := THREAD.match(profile["name"])) is None:
            continue
        for sample in profile["samples"]:
            if stack := _stack([frames[index] for index in sample]):
                yield int(thread[1]), stack


def _stack(frames: list[Mapping[str, Any]]) -> str:
    """What the task called, a line a frame, outermost first. Empty for a thread without a task."""
    callers = [index for index, frame in enumerate(frames) if str(frame.get("file")).endswith(DASK)]
    if not callers:
        return ""
    return "\n".join(_distinct(_line(frame) for frame in frames[callers[-1] + 1 :]))


def _line(frame: Mapping[str, Any]) -> str:
    name, file, number = (str(frame.get(part) or "") for part in ("name", "file", "line"))
    if name.startswith("0x"):  # an address: another one in each process and sample
        name, number = f"{os.path.basename(file)} (no symbols)", ""
    return "\t".join(" ".join(text.split()) for text in (name, file, number or "0"))


def _distinct(lines: Iterable[str]) -> Iterator[str]:
    """Without repeated functions of a library that has no symbols: they can't be told apart."""
    last = ""
    for line in lines:
        if line != last or " (no symbols)\t" not in line:
            yield line
        last = line


def _only(prefixes: set[str]) -> str:
    """The prefix of all tasks that a thread ran; empty for several, as a sample doesn't tell its task."""
    return next(iter(prefixes)) if len(prefixes) == 1 else ""


def _command(program: str, path: Path) -> list[str]:
    options = ["--native", "--threads", "--full-filenames", "--format", "speedscope"]
    times = ["--rate", str(RATE), "--duration", str(SECONDS)]
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCH]
    return [*launcher, program, "record", *options, *times, "--output", str(path), "--pid", str(os.getpid())]


def _error(text: str, returncode: int) -> Exception:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(word in text.lower() for word in ("permission denied", "operation not permitted")):
        return PermissionError(
            "py-spy may not trace the worker: give its container the capability SYS_PTRACE, set "
            "kernel.yama.ptrace_scope to 1 or 0, or on macOS run the worker as root"
        )
    said = next((line for line in lines if line.startswith(("Error", "error"))), lines[0] if lines else "")
    return NativeProfileError(storable(said, 300) or f"exit code {returncode}")


def _let_children_trace() -> None:
    """Lets children of this process trace it where kernel.yama.ptrace_scope is 1, as on many systems."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # not Linux
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, os.getpid(), 0, 0, 0)
