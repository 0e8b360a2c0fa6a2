"""Preloaded by member processes: the attempts at one task of a durable job note that they began, and wait.

The search for doctests imports this module, too, in a process without the variable."""

import os
import time
from pathlib import Path
from typing import Final

from sqlfront_engine.processor import END_OF_STEP, ProcessorContext, Steps
from sqlfront_engine.processors.spool.spool_write import SpoolWrite

#: The environment variable of processes whose tasks wait.
SLOW: Final = "SQLFRONT_TEST_SLOW"
#: The file, beside the directory of the store, in which the attempts note their file and their process.
LEDGER: Final = "attempts"
#: The beginning of the names of the files that the attempts write.
TASK: Final = "0.0.0-1."

_run = SpoolWrite.run


def gate(attempt: int) -> str:
    """The name of the file, beside the directory of the store, that lets the attempt go on."""
    return f"gate of attempt {attempt}"


def _waiting(self: SpoolWrite, context: ProcessorContext) -> Steps:
    path = Path(self.path)
    if not path.name.startswith(TASK):
        yield from _run(self, context)
        return
    folder, attempt = path.parents[3], int(path.name.removeprefix(TASK).partition(".")[0])
    descriptor = os.open(folder / LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(descriptor, f"{attempt} {os.getpid()}\n".encode())
    os.close(descriptor)
    while not (folder / gate(attempt)).exists():
        time.sleep(0.01)
        yield END_OF_STEP
    yield from _run(self, context)


if SLOW in os.environ:
    SpoolWrite.run = _waiting  # type: ignore[method-assign]
