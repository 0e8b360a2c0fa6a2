"""An `.slt` file on a Spark session and on sqlfront beside it, which has copies of all that Spark holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from unittest.mock import patch

from pyspark.errors import AnalysisException
from pyspark.sql.catalog import Table

import sqlfront
from tests.oracle.answers import Column, Failure, Outcome, difference
from tests.oracle.file_run import clustered, quoted
from tests.oracle.slt import Record
from tests.oracle.spark import SparkSubject
from tests.oracle.subject import answer, answer_and_lane


@dataclass
class Tally:
    """How queries were answered: how many by which lane, why by Spark, and where the answer was another."""

    lanes: Counter[str] = field(default_factory=Counter)
    #: Of what went to Spark; a query that ended with Spark's error is among them, too.
    reasons: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another one has counted."""
        self.lanes += other.lanes
        self.reasons += other.reasons
        self.differences += other.differences

    def __str__(self) -> str:
        lanes = ", ".join(f"{count} {lane}" for lane, count in self.lanes.most_common())
        return f"{self.lanes.total()} queries ({lanes}), {len(self.differences)} differences"


class BesideSpark:
    """Spark and sqlfront beside it answer the same statements. What Spark holds is copied into sqlfront's
    members before they are asked, or a share of it.

    A context manager that owns the connection; the tables are in a Spark session of its own.
    """

    def __init__(
        self,
        spark: SparkSubject,
        config: sqlfront.Config,
        share: Callable[[list[Table]], list[Table]] = lambda tables: tables,
    ) -> None:
        """``share``: which of Spark's tables, which it gets by name, to copy."""
        self.spark = spark
        self.tally = Tally()
        self._config = config
        self._share = share
        self._copied = False

    def __enter__(self) -> Self:
        self._connection = sqlfront.connect(self._config, spark=self.spark.session)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def run(self, records: Iterable[Record]) -> Tally:
        """Have Spark run the statements, and both answer the queries."""
        for record in records:
            if record.is_query:
                self.compare(record.place, record.sql, record.ordered, record.approximate)
            else:
                self.prepare(record)
        return self.tally

    def prepare(self, record: Record) -> None:
        """Have Spark run a statement."""
        outcome = self.spark.answer(record.sql)
        assert not isinstance(outcome, Failure), outcome
        self._copied = False

    def compare(self, place: str, sql: str, ordered: bool, approximate: bool) -> str:
        """Have both answer a query; the lane that sqlfront's answer came by."""
        self._copy_all()
        expected = self.spark.answer(sql)
        got, lane = self._answer(sql)
        differs = difference(expected, got, ordered=ordered, approximate=approximate)
        if differs is not None:
            self.tally.differences.append(f"{place} ({lane})\n{sql}\n{differs}")
        self.tally.lanes[lane] += 1
        return lane

    def _answer(self, sql: str) -> tuple[Outcome, str]:
        """sqlfront's answer, and its lane; that of an error says whose it is."""
        spark = self._connection.session.spark
        assert spark is not None
        with patch.object(spark, "run", wraps=spark.run) as runs:
            outcome, lane = answer_and_lane(self._connection, sql)
        self.tally.reasons.update(call.args[1] for call in runs.call_args_list)
        if isinstance(outcome, Failure):
            lane = "errors of Spark's" if runs.called else "errors"
        return outcome, lane

    def _copy_all(self) -> None:
        """Copy what of Spark's tables and views is to be copied and isn't, or not as it is now."""
        if self._copied:
            return
        known = set(self._connection.session.context.catalog.names())
        tables = sorted(self.spark.session.catalog.listTables(), key=lambda table: table.name)
        for table in self._share(tables):
            if table.name not in known:
                self._copy(quoted(table.name))
        self._copied = True

    def _copy(self, name: str) -> None:
        """Copy one of Spark's relations; nothing for a view that Spark can't read any more."""
        try:
            schema = self.spark.session.table(name).schema
        except AnalysisException:
            return
        columns = tuple(Column(field.name, field.dataType.simpleString()) for field in schema)
        outcome = answer(self._connection, f"CACHE TABLE {name}{clustered(columns)}")
        assert not isinstance(outcome, Failure), outcome
