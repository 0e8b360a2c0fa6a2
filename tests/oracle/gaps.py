"""The known gaps: records of `tests/slt` that sqlfront doesn't yet answer as Spark does, each under its
reason.

`tests/slt/known_gaps.txt` has a line in brackets per reason, below it a line per record: the file's name, a
colon and the record's SQL on one line (runs of white space as one space):

    [not built: GROUP BY with CUBE]
    aggregates.slt: SELECT region, year, sum(amount) FROM sales GROUP BY CUBE (region, year)

A gap of one storage only has its name after the file's: `tables.slt clustered: SELECT ...`. The list is
strict: an entry whose record passes, or that names no record, fails the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.oracle.slt import Record

GAPS = Path(__file__).parent.parent / "slt" / "known_gaps.txt"


@dataclass(frozen=True)
class Key:
    """What names a record: its file and its SQL on one line."""

    file: str
    sql: str


def key(record: Record, storage: str = "") -> Key:
    """The record's key; with a storage, that of a gap which only that storage has."""
    return Key(f"{record.file} {storage}".strip(), " ".join(record.sql.split()))


def known_gaps(path: Path = GAPS) -> dict[Key, str]:
    """The reason of each known gap."""
    gaps: dict[Key, str] = {}
    reason = "no reason given"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            reason = line.strip("[]")
        elif line and not line.startswith("#"):
            file, sql = line.split(": ", 1)
            gaps[Key(file, sql)] = reason
    return gaps
