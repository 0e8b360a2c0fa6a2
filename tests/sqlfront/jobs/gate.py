"""A gate for tasks of durable jobs: they note that they began, and wait with their last rows until the gate
is open. Ledger and gate lie beside the directory of the job's store; if tasks write to the disks of their
members, in the directory that a variable names."""

import os
import time
from pathlib import Path

from sqlfront_engine.processor import END_OF_STEP, ProcessorContext, Steps
from sqlfront_engine.processors.spool.spool_write import SpoolWrite
from sqlfront_engine.spool.places import is_on_member

#: The files below the folder that has the store: names of the files that tasks began to write, one a line;
#: and a file that is there as soon as tasks may end (with a dot and a number, tasks of a stage; with two
#: numbers, one task).
LEDGER, GATE = "ledger", "gate"
#: The environment variable of processes whose tasks wait, with the directory of ledger and gate.
GATED = "SQLFRONT_TEST_GATED"

_run = SpoolWrite.run


def _gated(self: SpoolWrite, context: ProcessorContext) -> Steps:
    path = Path(self.path)
    folder = Path(os.environ[GATED]) if is_on_member(self.path) else path.parents[3]
    stage, task, _ = path.name.split(".", 2)
    gates = [folder / name for name in (GATE, f"{GATE}.{stage}", f"{GATE}.{stage}.{task}")]
    descriptor = os.open(folder / LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(descriptor, f"{path.name}\n".encode())
    os.close(descriptor)
    steps, given = _run(self, context), None
    try:
        while True:
            given = yield steps.send(given)
            while given is None and not any(gate.exists() for gate in gates):
                time.sleep(0.01)
                yield END_OF_STEP
    except StopIteration:
        return
    finally:
        steps.close()


def install() -> None:
    """Have all tasks that run in this process wait at the gate."""
    SpoolWrite.run = _gated  # type: ignore[method-assign]
