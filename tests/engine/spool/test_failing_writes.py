"""Writes that fail, processes that are killed, machines that fail: a file is whole or absent."""

import errno
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront_engine.spool.reading import read_spool
from sqlfront_engine.spool.spool_file import SpoolSettings, SpoolWriter
from sqlfront_engine.storage.growing_file import remove_temporaries
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.errors import OperationalError
from tests.engine.durable.logs import Crash, Disk
from tests.engine.spool.files import NAME, names, stored_rows, write_spool
from tests.programs import printed

BATCHES = [
    (pa.RecordBatch.from_pydict({"n": list(range(place, place + 50))}), place % 2) for place in range(20)
]
SMALL = SpoolSettings(compression=None, buffer_size=3000)
#: The calls of one file: its name, its rows, their sync, its rename, its folder's sync.
CALLS = ["create", "write", "sync", "rename", "sync_folder"]


def failing(number: int, error: BaseException) -> Disk:
    """A disk on which the call of that number, from 1, fails."""

    def disturb(call: int, name: str) -> None:
        if call == number:
            raise error

    return Disk(disturb)


def test_the_calls_of_a_file_make_rows_and_name_durable(tmp_path: Path) -> None:
    disk = Disk()
    write_spool(tmp_path, BATCHES, 2, settings=SMALL, calls=disk)
    assert disk.calls == CALLS

    quick = Disk()
    write_spool(tmp_path, BATCHES, 2, settings=SpoolSettings(fsync=False), calls=quick)
    assert quick.calls == ["create", "write", "rename"]


@pytest.mark.parametrize("number", range(1, len(CALLS) + 1), ids=CALLS)
def test_an_error_of_any_call_leaves_no_file(tmp_path: Path, number: int) -> None:
    memory = CountingMemory()
    disk = failing(number, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    with pytest.raises(OperationalError, match=f"{NAME} can't be written: No space left on device"):
        write_spool(tmp_path, BATCHES, 2, settings=SMALL, memory=memory, calls=disk)
    assert names(tmp_path) == []
    assert memory.held == 0


@pytest.mark.parametrize("number", range(1, len(CALLS) + 2))
@pytest.mark.parametrize("seed", range(5))
def test_a_failing_machine_leaves_no_part_under_the_name(tmp_path: Path, number: int, seed: int) -> None:
    disk = failing(number, Crash())
    writer = None
    file = None
    try:
        writer = SpoolWriter(
            str(tmp_path / NAME), BATCHES[0][0].schema, 2, memory=CountingMemory(), settings=SMALL, calls=disk
        )
        for batch, bucket in BATCHES:
            writer.write(batch, bucket)
        file = writer.finish()
    except Crash:
        pass
    disk.lose_unsynced(seed)

    remove_temporaries(str(tmp_path))
    assert names(tmp_path) in ([], [NAME])
    if NAME in names(tmp_path):
        whole = write_spool(tmp_path / "again", BATCHES, 2, settings=SMALL)
        assert (tmp_path / NAME).read_bytes() == (tmp_path / "again" / NAME).read_bytes()
        assert whole.rows == 1000
    if file is not None:
        assert [*read_spool(file)]


#: More bytes than the limit of the process for a file: the system refuses in the middle of a write.
LIMITED = """
import resource, signal, sys
from pathlib import Path
import pyarrow as pa
from sqlfront_values.errors import OperationalError
from tests.engine.spool.files import names, write_spool
from tests.engine.spool.test_failing_writes import SMALL
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
batch = pa.RecordBatch.from_pydict({{"n": list(range(10_000))}})
try:
    write_spool(Path({folder!r}), [(batch, 0)] * 20, settings=SMALL)
except OperationalError as error:
    print(error)
print(names(Path({folder!r})))
"""


def test_a_write_that_the_system_cuts_leaves_no_file(tmp_path: Path) -> None:
    message, left = printed(LIMITED.format(folder=str(tmp_path)))

    assert message.endswith("can't be written: File too large")
    assert left == "[]"


#: Writes without end, and says so once the file has bytes.
ENDLESS = """
import sys
from itertools import repeat
import pyarrow as pa
from sqlfront_engine.spool.spool_file import SpoolWriter
from sqlfront_engine.testing import CountingMemory
from tests.engine.spool.test_failing_writes import SMALL
batch = pa.RecordBatch.from_pydict({"n": list(range(10_000))})
with SpoolWriter(sys.argv[1], batch.schema, 1, memory=CountingMemory(), settings=SMALL) as writer:
    for _ in range(10):
        writer.write(batch, 0)
    print("begun", flush=True)
    for again in repeat(batch):
        writer.write(again, 0)
"""


def test_a_killed_process_leaves_its_temporary_file_only(tmp_path: Path) -> None:
    other = write_spool(tmp_path / "other", BATCHES, 2)
    os.rename(other.path, tmp_path / "other.arrow")
    (tmp_path / "other").rmdir()
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path / NAME)], stdout=subprocess.PIPE
    ) as writing:
        assert writing.stdout is not None
        assert writing.stdout.readline() == b"begun\n"
        writing.send_signal(signal.SIGKILL)

    left = [name for name in names(tmp_path) if name != "other.arrow"]
    assert len(left) == 1
    assert NAME not in left
    assert remove_temporaries(str(tmp_path)) == left
    assert names(tmp_path) == ["other.arrow"]


def test_a_folder_that_does_not_exist_has_no_temporary_files(tmp_path: Path) -> None:
    assert remove_temporaries(str(tmp_path / "none")) == []


def test_a_second_attempt_replaces_the_file_of_the_first(tmp_path: Path) -> None:
    write_spool(tmp_path, BATCHES[:1], 2)

    file = write_spool(tmp_path, BATCHES[1:2], 2)

    assert stored_rows(file) == [(n,) for n in range(1, 51)]
    assert names(tmp_path) == [NAME]


# ---- memory


@pytest.mark.parametrize("seed", range(10))
def test_the_rows_held_are_a_buffer_or_one_batch(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    buffer_size = choose.choice([1, 5_000, 50_000])
    memory = CountingMemory()
    batches = [
        (pa.RecordBatch.from_pydict({"n": list(range(choose.choice([1, 10, 3000])))}), choose.randrange(4))
        for _ in range(60)
    ]

    write_spool(
        tmp_path, batches, 4, settings=SpoolSettings(buffer_size=buffer_size, fsync=False), memory=memory
    )

    assert memory.peak <= max(buffer_size, max(batch.nbytes for batch, _ in batches) + 1024)


def test_rows_without_bytes_fill_the_buffer_too(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_arrays([pa.nulls(1)], names=["v"])

    file = write_spool(
        tmp_path, [(batch, 0)] * 1000, settings=SpoolSettings(buffer_size=100_000, fsync=False)
    )

    assert len(file.buckets) > 10
    assert file.rows == 1000


def test_a_refused_charge_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="no memory"):
        write_spool(tmp_path, BATCHES, 2, memory=Refusing())
    assert names(tmp_path) == []


class Refusing(CountingMemory):
    """An account that refuses the third charge."""

    def charge(self, size: int, maker: str = "") -> None:
        if self.held > 1500:
            raise OperationalError("no memory")
        super().charge(size, maker)
