"""An `.slt` file on its way through sqlfront, with each query as a durable job."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import sqlfront
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Query
from tests.oracle import processes
from tests.oracle.answers import Answer, Column, Failure, Outcome
from tests.oracle.file_run import FileRun, Storage
from tests.oracle.slt import Record
from tests.oracle.subject import Subject
from tests.oracle.values import rows_of

#: Small tasks and no waiting, so that a job has several tasks and takes milliseconds.
OPTIONS = {"parallelism": "3", "buckets": "6", "task-size": "1", "job-event.store.group-window": "0"}
#: The files into which the rows of a view go, each of which another task can read.
FILES = 3
#: Seconds after which a job counts as hanging.
LONGEST = 60
#: The names in a refusal: the path before it, and what is in backticks.
_NAMES = re.compile(r"^/\S*: |(?<=`)[^`]+(?=`)")


@dataclass
class JobCounts:
    """What has become of queries: how many gave Spark's answer, by the number of their job's stages (0 = an
    error before the job began); why others were refused; and how the answers of the rest differ."""

    equal: Counter[int] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        stages = ", ".join(f"{count} of {stages} stages" for stages, count in sorted(self.equal.items()))
        refused = "".join(f"\n  {count} refused: {reason}" for reason, count in self.refused.most_common())
        return f"{self.equal.total()} equal ({stages}), {len(self.different)} different{refused}"


class JobSubject(Subject):
    """Answers queries by durable jobs of the store in a folder, other statements as ever.
    ``on_processes``: member processes run the tasks, else threads."""

    def __init__(self, store: Path, *, on_processes: bool = False) -> None:
        make = processes.config if on_processes else sqlfront.Config
        # No rows are collected, so that each exchange of rows divides two stages.
        super().__init__(make(job_store=str(store), collect_rows=0))
        #: The stages of the last job, 0 = there was none.
        self.stages = 0
        #: The reason why the last query was refused, None = it was not.
        self.refusal: str | None = None

    def answer(self, sql: str) -> Outcome:
        return self._answer_by_job(sql) if is_query(sql) else super().answer(sql)

    def _answer_by_job(self, sql: str) -> Outcome:
        self.stages, self.refusal = 0, None
        try:
            return self._run(sql)
        except sqlfront.InternalError:
            raise
        except sqlfront.Error as error:
            if isinstance(error, sqlfront.NotSupportedError):
                self.refusal = _NAMES.sub("", error.message)
            return Failure(error.condition, error.sqlstate, f"{type(error).__name__}: {error}")

    def _run(self, sql: str) -> Answer:
        job = self.connection.session.submit_job(sql, options=OPTIONS)
        try:
            status = job.wait(LONGEST)
            assert status.has_ended, f"{status} after {LONGEST} s"
            self.stages = status.stages
            result = job.result()
            columns = tuple(Column(name, kind) for name, kind in result.dtypes)
            return Answer(columns, tuple(rows_of(result.toArrow())))
        finally:
            self.connection.execute(f"DROP JOB `{job.name}`")


class JobRun(FileRun):
    """The records of a file, queries by durable jobs of the store in a folder, on threads, or with
    ``on_processes`` on member processes. Temporary views are cached as memory tables; with ``files``, a
    folder, they are stored there, each in several Parquet files, if Parquet has their types. With ``spread``
    they are memory tables of the member processes."""

    def __init__(
        self,
        records: list[Record],
        store: Path,
        files: Path | None = None,
        *,
        on_processes: bool = False,
        spread: bool = False,
    ) -> None:
        #: Answers the records, and other queries.
        self.subject = JobSubject(store, on_processes=on_processes)
        super().__init__(records, Storage.PROCESSES if on_processes else Storage.CLUSTERED, self.subject)
        self._files, self._spread = files, spread
        self._numbers = itertools.count(1)

    def count(self, record: Record, counts: JobCounts) -> None:
        """Run a query, and count the outcome."""
        difference = self.difference(record)
        if difference is None:
            counts.equal[self.subject.stages] += 1
        elif self.subject.refusal is not None:
            counts.refused[self.subject.refusal] += 1
        else:
            counts.different.append(f"{record.place}: {difference}\n{record.sql}")

    def _keep(self, view: str) -> str | None:
        if self._spread:
            return self._spread_out(view)
        return super()._keep(view) if self._files is None else self._store(view, self._files)

    def _spread_out(self, view: str) -> str | None:
        connection, table = self.subject.connection, f"{view}_in_memory_{next(self._numbers)}"
        try:
            connection.execute(f"CREATE TABLE {table} USING memory AS SELECT * FROM {view}")
            connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS SELECT * FROM {table}")
        except sqlfront.Error:
            pass  # the view stays: it has a type that tables don't have
        return None

    def _store(self, view: str, files: Path) -> str | None:
        connection, table = self.subject.connection, f"{view}_in_files_{next(self._numbers)}"
        try:
            rows = connection.execute(f"SELECT * FROM {view}").fetch_arrow_table()
            count = -(-rows.num_rows // FILES)
            into = f"CREATE TABLE {table} USING parquet LOCATION '{files / table}' AS"
            for first in range(0, rows.num_rows, count or 1):
                connection.session.register("part_of_view", rows.slice(first, count))
                connection.execute(f"{into} SELECT * FROM part_of_view")
                into = f"INSERT INTO {table}"
            connection.execute(f"SELECT * FROM {table}")
            connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS SELECT * FROM {table}")
        except sqlfront.Error:
            pass  # the view stays: it has no rows, or a type that files don't have
        connection.session.unregister("part_of_view")
        return None


def is_query(sql: str) -> bool:
    """Whether a durable job can run the statement for its rows."""
    try:
        return isinstance(parse(sql), Query)
    except sqlfront.Error:
        return False
