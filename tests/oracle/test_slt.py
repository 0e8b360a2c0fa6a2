"""Every record of `tests/slt` on sqlfront: the answer must be the stored one, which is Spark's.

A record is run with the temporary views of its file as they are, and with each of them cached as a
partitioned memory table: in every kind of :class:`~tests.oracle.file_run.Storage`. The test command runs each
record in two kinds: with views, and in one of the kinds of tables, which take turns. ``make cluster`` runs
every record in every kind.
"""

from collections.abc import Collection, Iterator
from contextlib import ExitStack

import pytest
from _pytest.mark import ParameterSet

from tests.oracle import slt
from tests.oracle.complete import SLT_FOLDER, files
from tests.oracle.file_run import FileRun, Storage
from tests.oracle.gaps import key, known_gaps
from tests.oracle.slt import Record

RECORDS = {path.name: slt.read(path) for path in files([SLT_FOLDER])}
GAPS = known_gaps()
#: What the test command lets the records take turns in.
TABLES = [kind for kind in Storage if kind is not Storage.VIEW]
#: The kinds in which the test command runs a record, by the record's :func:`id`.
SAMPLE = {
    id(record): [Storage.VIEW, TABLES[number % len(TABLES)]]
    for records in RECORDS.values()
    for number, record in enumerate(records)
}


class Runs:
    """The file that is on its way, in each kind of storage; the one before it is closed."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._file = ""
        self._runs: dict[Storage, FileRun] = {}

    def differences(self, record: Record, kinds: Collection[Storage]) -> dict[Storage, str]:
        """How the answers differ, where they do."""
        if self._file != record.file:
            self.close()
            self._file = record.file
        found = ((kind, self._run(kind).difference(record)) for kind in kinds)
        return {kind: text for kind, text in found if text is not None}

    def _run(self, kind: Storage) -> FileRun:
        if kind not in self._runs:
            self._runs[kind] = self._stack.enter_context(FileRun(RECORDS[self._file], kind))
        return self._runs[kind]

    def close(self) -> None:
        """End the current runs."""
        self._file = ""
        self._runs.clear()
        self._stack.close()


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    runs = Runs()
    yield runs
    runs.close()


def gaps(record: Record, kinds: Collection[Storage]) -> dict[Storage, str]:
    """The reasons of those that are known."""
    reasons = ((kind, GAPS.get(key(record)) or GAPS.get(key(record, kind.name.lower()))) for kind in kinds)
    return {kind: reason for kind, reason in reasons if reason is not None}


def in_groups() -> Iterator[ParameterSet]:
    """All records; those of a file go to one worker, so that only one makes its views."""
    for file, records in RECORDS.items():
        for record in records:
            yield pytest.param(record, id=record.place, marks=pytest.mark.xdist_group(file))


def wrong(runs: Runs, record: Record, kinds: Collection[Storage]) -> list[str]:
    """Other answers than the stored one, but for known gaps; and known gaps that are none any more."""
    differs, known = runs.differences(record, kinds), gaps(record, kinds)
    told = [f"{kind.name.lower()}: {text}" for kind, text in differs.items() if kind not in known]
    told += [f"{kind.name.lower()}: a known gap no more" for kind in known if kind not in differs]
    return [record.place, record.sql, *told] if told else []


@pytest.mark.parametrize("record", [*in_groups()])
def test_answer_is_sparks(runs: Runs, record: Record) -> None:
    kinds = SAMPLE[id(record)]
    if told := wrong(runs, record, kinds):
        pytest.fail("\n".join(told), pytrace=False)
    if known := gaps(record, kinds):
        pytest.xfail(next(iter(known.values())))


@pytest.mark.cluster
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("file", RECORDS)
def test_all_answers_from_tables_are_sparks(runs: Runs, file: str, kind: Storage) -> None:
    told = [line for record in RECORDS[file] for line in wrong(runs, record, [kind])]

    assert not told, "\n".join(told)


def test_known_gaps_name_records() -> None:
    storages = ["", *(storage.name.lower() for storage in Storage)]
    records = [record for records in RECORDS.values() for record in records]

    assert set(GAPS) <= {key(record, storage) for record in records for storage in storages}
