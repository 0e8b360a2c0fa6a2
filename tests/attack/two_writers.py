"""Processes that write to and read one folder, and are killed at any moment.

Each writer puts rows of one number in the place of all that is there, spread over partitions; so all rows
that anybody reads have to be of one number, and as many as were written.

    python -m tests.attack.two_writers --minutes 5 --seed 1
"""

import argparse
import math
import os
import random
import select
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pyarrow as pa

from sqlfront_connectors import registry
from sqlfront_connectors.base import ScanRequest, TableDefinition, WritableTable, insert_all
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.writers import PREFIX
from sqlfront_engine.processor import END_OF_PIECE, ProcessorContext
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.errors import Error, OperationalError
from sqlfront_values.types import BIGINT, INT

SCHEMA: Final = pa.schema([("number", BIGINT), ("part", INT)])
#: Rows of a version, in so many partitions.
ROWS: Final = 400
PARTITIONS: Final = 4
#: Seconds that a writer lives once it has written, at most.
LONGEST_LIFE: Final = 0.5


def opened(folder: str) -> FileTable:
    """The table of the folder, as a process sees it that has just begun."""
    definition = TableDefinition("t", SCHEMA, location=folder, partitioned_by=("part",))
    table = registry.create("parquet", definition)
    assert isinstance(table, FileTable) and isinstance(table, WritableTable)
    return table


def numbers(table: FileTable) -> Counter[int]:
    """How often each number is in the table."""
    plan = table.snapshot().scan(ScanRequest((0, 1)))
    found: Counter[int] = Counter()
    for batch in plan.source.run(ProcessorContext("scan", CountingMemory(), resources=plan.resources)):
        assert isinstance(batch, pa.RecordBatch)
        if batch is not END_OF_PIECE:
            found.update(batch.column(0).to_pylist())
    return found


def write_for_ever(folder: str, number: int) -> None:
    """Overwrite the folder again and again, with numbers that nobody else has."""
    table = opened(folder)
    first = number
    while True:
        number += 1
        rows = {"number": [number] * ROWS, "part": [row % PARTITIONS for row in range(ROWS)]}
        insert_all(table, [pa.RecordBatch.from_pydict(rows, schema=SCHEMA)], overwrite=True)
        if number == first + 1:
            print(flush=True)


def looked_at(folder: str) -> tuple[int | None, bool]:
    """The number that is in the folder (None: no rows), and whether that could be seen at all: a file that
    was listed may have gone when it is opened."""
    try:
        found = numbers(opened(folder))
    except OperationalError as error:
        if error.condition == "FAILED_READ_FILE.FILE_NOT_EXIST":
            return None, False
        raise
    assert len(found) <= 1, f"rows of several versions: {found}"
    assert not found or found.total() == ROWS, f"rows are missing: {found}"
    return next(iter(found), None), True


class Report:
    """What a campaign has seen."""

    def __init__(self) -> None:
        self.kills = self.looks = self.missed = 0
        self.seen: set[int] = set()
        self.left_most = 0

    def __str__(self) -> str:
        return (
            f"{self.kills} writers killed, {self.looks} looks ({self.missed} at files just removed), "
            f"{len(self.seen)} versions seen, at most {self.left_most} writers' folders left"
        )


class Writer:
    """A process that overwrites the folder until it is killed."""

    def __init__(self, folder: str, number: int) -> None:
        command = [sys.executable, "-m", "tests.attack.two_writers", "--write", folder, str(number)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        #: When it is to be killed; None until it has begun to write.
        self.until: float | None = None

    def has_begun(self) -> bool:
        """Whether it writes."""
        assert self._process.poll() is None, "a writer has ended by itself"
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def kill(self) -> None:
        """End it, wherever it is."""
        self._process.kill()
        self._process.communicate()


def campaign(folder: Path, seconds: float, seed: int, writers: int = 2, kills: float = math.inf) -> Report:
    """Have writers run, and be killed, for so long or so often; AssertionError if a look shows parts of
    versions."""
    chance, report, place = random.Random(seed), Report(), str(folder)
    running: list[Writer] = []
    end, started = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < end and report.kills < kills:
            while len(running) < writers:
                started += 1
                running.append(Writer(place, started * 1_000_000))
            now = time.monotonic()
            for writer in tuple(running):
                if writer.until is None:
                    writer.until = now + chance.uniform(0, LONGEST_LIFE) if writer.has_begun() else None
                elif now > writer.until:
                    writer.kill()
                    running.remove(writer)
                    report.kills += 1
            _look(place, report)
            time.sleep(0.005)
    finally:
        for writer in running:
            writer.kill()
    _check_the_rest(place, report)
    return report


def _look(place: str, report: Report) -> None:
    number, could = looked_at(place)
    report.looks += 1
    report.missed += not could
    if number is not None:
        report.seen.add(number)
    left = [name for name in os.listdir(place) if name.startswith(PREFIX)] if os.path.isdir(place) else []
    report.left_most = max(report.left_most, len(left))


def _check_the_rest(place: str, report: Report) -> None:
    """All writers are dead: what they have left is one version, and the next one leaves its own alone."""
    _, could = looked_at(place)
    assert could, "a version has lost a file"
    rows = {"number": [7] * ROWS, "part": [row % PARTITIONS for row in range(ROWS)]}
    insert_all(opened(place), [pa.RecordBatch.from_pydict(rows, schema=SCHEMA)], overwrite=True)
    assert looked_at(place) == (7, True)
    files = [path for path in Path(place).rglob("*") if path.is_file()]
    assert len(files) == PARTITIONS, f"something was left: {files}"
    assert not [path for path in Path(place).iterdir() if path.name.startswith(PREFIX)]


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", nargs=2)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("build/two_writers"))
    options = parser.parse_args()
    if options.write:
        try:
            write_for_ever(options.write[0], int(options.write[1]))
        except Error as error:
            sys.exit(f"a writer failed: {error}")
    print(campaign(options.folder, options.minutes * 60, options.seed))


if __name__ == "__main__":
    main()
