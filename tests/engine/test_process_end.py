"""The end of a process whose jobs still run."""

import os
import signal
import subprocess
import sys

#: A job whose step takes a while when the main thread ends. The line is written only if the process waits for
#: the step.
_PROGRAM = """
import os, threading, time
from sqlfront_engine.engine import Engine
from sqlfront_engine.processor import Processor
from tests.engine.jobs import chain, numbers

began = threading.Event()

class Slow(Processor, frozen=True):
    cooperative = {cooperative}

    def run(self, context):
        while True:
            began.set()
            time.sleep(0.2)
            os.write(1, b"step\\n")
            yield numbers(1)

job = Engine(workers=1).run(chain(Slow()))
began.wait()
{end}
"""


def _output(*, cooperative: bool, end: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(cooperative=cooperative, end=end)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == (-signal.SIGINT if end else 0), done.stderr
    return done.stdout


def test_the_interpreter_waits_for_a_workers_step() -> None:
    assert _output(cooperative=True) == "step\n"


def test_the_interpreter_waits_for_the_step_of_a_dedicated_thread() -> None:
    assert _output(cooperative=False) == "step\n"


def test_the_interpreter_waits_for_the_step_after_ctrl_c() -> None:
    assert _output(cooperative=True, end="raise KeyboardInterrupt") == "step\n"
