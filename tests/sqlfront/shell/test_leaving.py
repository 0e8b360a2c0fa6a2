"""The end of the command's process, whatever threads it has."""

import os
import subprocess
import sys

_PROGRAM = """
import sys, threading, time
from sqlfront.shell.leaving import leave

class Told:
    def __del__(self):
        print("the interpreter frees its modules", flush=True)

told = Told()

def work():
    time.sleep(0.2)
    print("the thread has ended")

thread = threading.Thread(target=work, daemon={daemon})
thread.start()
leave(7)
"""


def _output(*, daemon: bool) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(daemon=daemon)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 7, done.stderr
    return done.stdout


def test_a_daemon_thread_does_not_see_the_interpreters_end() -> None:
    assert _output(daemon=True) == ""


def test_another_thread_is_waited_for() -> None:
    assert _output(daemon=False) == "the thread has ended\n"
