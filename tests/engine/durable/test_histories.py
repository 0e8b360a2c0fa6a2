"""Random histories of a log: coordinators that append, fail to write, and are superseded."""

import errno
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.replay import Replay
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_values.errors import OperationalError
from tests.engine.durable.logs import JOB, Disk, begin, failing, local_store, note, notes, owned

STEPS = st.sampled_from(["append", "durable", "commit", "file", "epoch", "former"])
FAULTS = st.sampled_from(["", "", "", "write", "sync", "create", "sync_folder"])


class History:
    """A log, and what its replay must and may have: per epoch the appended texts, and how many of them were
    acknowledged."""

    def __init__(self, path: Path) -> None:
        self.disk = Disk()
        self.store = local_store(path, self.disk)
        self.logs: list[EventLog] = []
        self.appended: list[list[str]] = []
        self.acknowledged: list[int] = []

    def step(self, name: str, fault: str, times: int) -> None:
        """Do one step; the named call fails so many times during the step."""
        if name == "epoch" or not self.logs:
            self.logs.append(begin(self.store, LogSettings(file_size=700)))
            self.appended.append([])
            self.acknowledged.append(0)
            return
        # A former coordinator comes back: nothing that it does counts.
        place = 0 if name == "former" else len(self.logs) - 1
        self.disk.disturb = failing(fault, errno.EIO, times=times)
        try:
            self._write(name, place)
        except OperationalError:
            pass
        finally:
            self.disk.disturb = failing("", 0, times=0)

    def _write(self, name: str, place: int) -> None:
        log, appended = self.logs[place], self.appended[place]
        if name in ("append", "durable", "former"):
            text = f"{place}-{len(appended)}"
            log.append(note(text))
            appended.append(text)
        if name == "file":
            log.start_file()
        elif name != "append":
            log.commit()
        if name != "append":
            self.acknowledged[place] = len(appended)

    def check(self, replay: Replay) -> None:
        """Check that each epoch has a beginning of its texts, with all acknowledged ones."""
        found = notes(replay)
        assert replay.damage is None
        for place, appended in enumerate(self.appended):
            of_epoch = [text for text in found if text.startswith(f"{place}-")]
            assert of_epoch == appended[: len(of_epoch)]
            assert len(of_epoch) >= self.acknowledged[place]
        assert found == sorted(found, key=lambda text: int(text.partition("-")[0]))
        assert [record.sequence for record in replay.records] == list(range(1, len(replay.records) + 1))


@given(st.lists(st.tuples(STEPS, FAULTS, st.integers(1, 2)), max_size=25))
@settings(max_examples=60, deadline=None)
def test_any_history_is_read_back(steps: list[tuple[str, str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder))
        with owned(history.store):
            for name, fault, times in steps:
                history.step(name, fault, times)
                history.check(history.store.read(JOB))
