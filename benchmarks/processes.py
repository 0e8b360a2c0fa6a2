"""Worker process of a subject, and figures of the operating system about the process and its children
(Linux)."""

import multiprocessing
import os
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.subjects import SUBJECTS

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """Figures of a run: ``wall`` and ``cpu`` in seconds (all threads and child processes, such as a JVM),
    ``rows`` of the answer, and ``error`` if the run failed."""

    wall: float
    cpu: float
    rows: int = 0
    error: str = ""


class Worker:
    """A process that holds one subject with its tables and answers queries one at a time."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(name, str(folder), theirs), daemon=False)
        self._process.start()
        assert self._process.pid is not None
        self._pid = self._process.pid
        self._connection.recv()  # imported
        self.loaded = self._measure(None)

    def run(self, text: str) -> Measured:
        """Run one query."""
        return self._measure(text)

    def peak_memory(self) -> int:
        """Peak resident bytes of the process and its children."""
        return sum(status(pid, "VmHWM") for pid in family(self._pid))

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join(20)
        if self._process.is_alive():
            self._process.kill()

    def _measure(self, text: str | None) -> Measured:
        children, began = children_cpu(self._pid), time.perf_counter()
        self._connection.send(text)
        rows, cpu, error = self._connection.recv()
        wall = time.perf_counter() - began
        return Measured(wall, cpu + children_cpu(self._pid) - children, rows, error)


def _serve(name: str, folder: str, connection: Connection) -> None:
    """Load the tables on the first message, then answer queries."""
    subject = SUBJECTS[name].make()
    connection.send("ready")
    connection.recv()
    began = time.process_time()
    subject.load(Path(folder))
    connection.send((0, time.process_time() - began, ""))
    while True:
        try:
            text = connection.recv()
        except EOFError:
            return
        rows, failure, began = 0, "", time.process_time()
        try:
            rows = subject.query(text)
        except Exception as error:  # noqa: BLE001 - reported in the table
            failure = f"{type(error).__name__}: {str(error)[:200]}"
        connection.send((rows, time.process_time() - began, failure))


def family(pid: int) -> list[int]:
    """The process and all its descendants."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def children_cpu(pid: int) -> float:
    """CPU seconds of all descendants of the process, to 10 ms."""
    return sum(map(cpu_seconds, family(pid)[1:]))


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and of its ended children, to 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / _TICK


def status(pid: int, key: str) -> int:
    """The bytes under ``key`` in the process's status, such as ``VmHWM``; 0 if the key is missing."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0
