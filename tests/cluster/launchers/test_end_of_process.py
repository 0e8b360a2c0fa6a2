"""Processes that end by a signal."""

import subprocess
import sys

#: Sends SIGTERM to a thread other than the main thread, as the system may do.
PROGRAM = """
import signal, threading, time
from sqlfront_cluster.launchers.end_of_process import EndOfProcess

def send():
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    threading.Event().wait()

with EndOfProcess() as end:
    threading.Thread(target=send, daemon=True).start()
    end.wait()
print(end.signals, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_a_signal_that_another_thread_gets_ends_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[15] True\n", "")
