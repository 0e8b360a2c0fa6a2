"""Processes that are stopped for a while, as by a debugger."""

import os
import signal
import threading
from pathlib import Path


def stop(process: int) -> None:
    """Stop a process; returns once none of its threads does anything any more."""
    os.kill(process, signal.SIGSTOP)
    pause = threading.Event()
    while any(_state(task) not in "TtZ" for task in Path(f"/proc/{process}/task").iterdir()):
        pause.wait(0.002)


def _state(task: Path) -> str:
    return (task / "stat").read_text().rpartition(")")[2].split()[0]
