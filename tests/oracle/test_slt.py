"""Every record of `tests/slt` on sqlfront: the answer must be the stored one, which is Spark's.

A file is run with its temporary views as they are, and again with each of them cached as a partitioned memory
table.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.oracle import slt
from tests.oracle.complete import SLT_FOLDER, files
from tests.oracle.file_run import FileRun, Storage
from tests.oracle.gaps import key, known_gaps
from tests.oracle.slt import Record

RECORDS = {path.name: slt.read(path) for path in files([SLT_FOLDER])}
GAPS = known_gaps()


class Runs:
    """The file that is on its way; the one before it is closed."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._current: tuple[tuple[str, Storage], FileRun] | None = None

    def get(self, file: str, storage: Storage) -> FileRun:
        """The run of that file, begun anew unless it is the current one."""
        if self._current is None or self._current[0] != (file, storage):
            self.close()
            self._current = (file, storage), self._stack.enter_context(FileRun(RECORDS[file], storage))
        return self._current[1]

    def close(self) -> None:
        """End the current run."""
        self._stack.close()
        self._current = None


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    runs = Runs()
    yield runs
    runs.close()


def _parameters() -> Iterator[object]:
    for storage in Storage:
        for records in RECORDS.values():
            for record in records:
                reason = GAPS.get(key(record)) or GAPS.get(key(record, storage.name.lower()))
                marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
                yield pytest.param(record, storage, id=f"{record.place}-{storage.name.lower()}", marks=marks)


@pytest.mark.parametrize("record, storage", list(_parameters()))
def test_answer_is_sparks(runs: Runs, record: Record, storage: Storage) -> None:
    differs = runs.get(record.file, storage).difference(record)

    if differs is not None:
        pytest.fail(f"{record.place}\n{record.sql}\n{differs}", pytrace=False)


def test_known_gaps_name_records() -> None:
    storages = ["", *(storage.name.lower() for storage in Storage)]
    records = [record for records in RECORDS.values() for record in records]

    assert set(GAPS) <= {key(record, storage) for record in records for storage in storages}
