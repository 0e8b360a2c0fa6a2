"""An `.slt` file on its way through sqlfront."""

from __future__ import annotations

import re
from enum import Enum
from types import TracebackType
from typing import Self

from sqlglot import exp

import sqlfront
from tests.oracle import processes
from tests.oracle.answers import Answer, Column, Failure
from tests.oracle.complete import differs_from
from tests.oracle.slt import SPARK, Record
from tests.oracle.subject import Subject

_MAKES_VIEW = re.compile(r"CREATE(?: OR REPLACE)? TEMPORARY VIEW (\w+)")
_NO_KEY = ("array", "map", "struct", "interval", "void")


class Storage(Enum):
    """What becomes of a temporary view after it was made."""

    VIEW = "nothing"
    CLUSTERED = "it is cached as a memory table, partitioned by its first column that can be a key"
    SPREAD = "the same, on three members that exchange rows whenever they can"
    PROCESSES = "the same, each member a process"


def _config(storage: Storage) -> sqlfront.Config | None:
    match storage:
        case Storage.SPREAD:
            return sqlfront.Config(members=3, workers=3, collect_rows=0)
        case Storage.PROCESSES:
            return processes.config(collect_rows=0)
        case _:
            return None


class FileRun:
    """The records of one file on one connection. A record is compared at will; the statements before it are
    run first, each once, queries only when they are asked for. ``subject``: answers the records, None = one
    for the storage."""

    def __init__(self, records: list[Record], storage: Storage, subject: Subject | None = None) -> None:
        self._records = records
        self._storage = storage
        self._reached = 0
        self._subject = subject or Subject(_config(storage))

    def __enter__(self) -> Self:
        self._subject.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._storage is Storage.PROCESSES:
            processes.drop_all(self._subject.connection)
        self._subject.__exit__(kind, error, trace)

    def difference(self, record: Record) -> str | None:
        """How sqlfront's outcome differs from the stored one; it doesn't where only Spark runs the record."""
        position = self._records.index(record)
        while self._reached < position:
            self._run_statement(self._records[self._reached])
            self._reached += 1
        if record.is_query:
            if record.only == SPARK:
                return None
            return differs_from(record, self._subject.answer(record.sql))
        self._reached = max(self._reached, position + 1)
        return self._run_statement(record)

    def _run_statement(self, record: Record) -> str | None:
        if record.is_query or record.only == SPARK:
            return None
        differs = differs_from(record, self._subject.answer(record.sql))
        view = _MAKES_VIEW.match(record.sql)
        if differs is None and view is not None and self._storage is not Storage.VIEW:
            return self._keep(view[1])
        return differs

    def _keep(self, view: str) -> str | None:
        """Put the rows of a view where the storage has them; return what went wrong, None = nothing."""
        rows = self._subject.answer(f"SELECT * FROM {view}")
        columns = rows.columns if isinstance(rows, Answer) else ()
        outcome = self._subject.answer(f"CACHE TABLE {view}{clustered(columns)}")
        return f"{view} can't be cached: {outcome.message}" if isinstance(outcome, Failure) else None


def clustered(columns: tuple[Column, ...]) -> str:
    """CACHE TABLE's clause for the first column that can be a key; empty if none can."""
    keys = [column.name for column in columns if not column.type.startswith(_NO_KEY)]
    return f" CLUSTERED BY ({quoted(keys[0])})" if keys else ""


def quoted(name: str) -> str:
    """A name in backticks."""
    return exp.to_identifier(name, quoted=True).sql("spark")
