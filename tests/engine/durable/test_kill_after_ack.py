"""Coordinators that are killed at any moment: what was acknowledged is there."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.durable.logs import JOB, local_store, notes

#: Four threads append, and print the text of each acknowledged note. The pipe is no part of the store: a line
#: that was printed was acknowledged before.
APPENDING = """
import os, sys, threading
from itertools import count
from pathlib import Path
from sqlfront_engine.durable.event_store.settings import LogSettings
from tests.engine.durable.logs import begin, local_store, note, owned
with owned(local_store(Path(sys.argv[1]))) as store:
    log = begin(store, LogSettings(file_size=10_000))
    def append(thread):
        for number in count():
            text = f"{log.epoch}-{thread}-{number}"
            log.append(note("nobody waits"))
            log.append_durably(note(text))
            os.write(1, f"{text}\\n".encode())
    for thread in range(4):
        threading.Thread(target=append, args=(thread,)).start()
"""


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.soak)])
def test_kill_after_ack(tmp_path: Path, kills: int) -> None:
    choose = random.Random(kills)
    acknowledged: list[str] = []
    for _ in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-c", APPENDING, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout is not None
        acknowledged.append(process.stdout.readline().strip())
        time.sleep(choose.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
        acknowledged.extend(line.strip() for line in process.stdout.read().splitlines())
        process.wait()
        process.stdout.close()

        replay = local_store(tmp_path).read(JOB)
        assert replay.damage is None
        found = [text for text in notes(replay) if text != "nobody waits"]
        assert len(found) == len(set(found))
        assert set(acknowledged) <= set(found)
